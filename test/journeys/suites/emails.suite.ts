import { beforeAll, describe } from 'vitest';
import type { GatepostServer } from '#testing';
import { describeEmailBounds } from './email-bounds.suite.js';
import { createMailingApps, type MailingApps } from './email-client.js';
import { describeEmailRequests } from './email-requests.suite.js';
import { describeEmailSdk } from './email-sdk.suite.js';
import { describeEmailSettings } from './email-settings.suite.js';
import { describeEmailVerification } from './email-verification.suite.js';
import { describePasswordReset } from './password-reset.suite.js';

/** E-mail addresses, and the links that are sent to them. */
export function describeEmails(server: () => GatepostServer): void {
  describe('e-mail', () => {
    let created: MailingApps;
    const apps = () => created;
    beforeAll(async () => {
      created = await createMailingApps(server());
    });

    describeEmailVerification(server, apps);
    describeEmailRequests(server, apps);
    describePasswordReset(server, apps);
    describeEmailSettings(server, apps);
    describeEmailBounds(server, apps);
    describeEmailSdk(server, apps);
  });
}
