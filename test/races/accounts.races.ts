import type { GatepostServer } from '#testing';
import { describeJointSaveRaces } from './joint-saves.races.js';
import { describeLockoutRaces } from './lockout.races.js';
import { describeSignUpRaces } from './sign-ups.races.js';
import { describeTokenRaces } from './tokens.races.js';
import { describeUpdateRaces } from './updates.races.js';

/** Races for users and roles, by their passwords and session tokens. */
export function describeAccountRaces(server: () => GatepostServer): void {
  describeSignUpRaces(server);
  describeLockoutRaces(server);
  describeTokenRaces(server);
  describeUpdateRaces(server);
  describeJointSaveRaces(server);
}
