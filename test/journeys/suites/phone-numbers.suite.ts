import { describe } from 'vitest';
import type { GatepostServer } from '#testing';
import { describePhoneAccounts } from './phone-accounts.suite.js';
import { describePhoneBadInput } from './phone-bad-input.suite.js';
import { describePhoneCodes } from './phone-codes.suite.js';
import { describePhoneSdk } from './phone-sdk.suite.js';

/** Phone numbers, and the codes that are sent to them. */
export function describePhoneNumbers(server: () => GatepostServer): void {
  describe('phone numbers', () => {
    describePhoneCodes(server);
    describePhoneAccounts(server);
    describePhoneSdk(server);
    describePhoneBadInput(server);
  });
}
