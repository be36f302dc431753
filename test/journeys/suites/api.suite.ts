import type { GatepostServer } from '#testing';
import { describeBadInput } from './bad-input.suite.js';
import { describeBatch } from './batch.suite.js';
import { describeChanging } from './changing.suite.js';
import { describeClassPermissions } from './class-permissions.suite.js';
import { describeConcurrency } from './concurrency.suite.js';
import { describeCredentials } from './credentials.suite.js';
import { describeApiDescription } from './description.suite.js';
import { describeJointSaves } from './joint-saves.suite.js';
import { describeListing } from './listing.suite.js';
import { describeLockout } from './lockout.suite.js';
import { describeLogin } from './login.suite.js';
import { describeUpdateOperations } from './operations.suite.js';
import { describePhoneNumbers } from './phone-numbers.suite.js';
import { describeQueries } from './queries.suite.js';
import { describeObjectRefusals } from './object-refusals.suite.js';
import { describeReading } from './reading.suite.js';
import { describeRoles } from './roles.suite.js';
import { describeSdk } from './sdk.suite.js';
import { describeServiceRoutes } from './service-routes.suite.js';
import { describeSettings } from './settings.suite.js';
import { describeSignUp } from './sign-up.suite.js';

/** All that a client may expect, whatever shape the server runs in. */
export function describeApi(server: () => GatepostServer): void {
  describeSdk(server);
  describeCredentials(server);
  describeSignUp(server);
  describeLogin(server);
  describeLockout(server);
  describeReading(server);
  describeChanging(server);
  describeUpdateOperations(server);
  describeListing(server);
  describeQueries(server);
  describeBatch(server);
  describeJointSaves(server);
  describePhoneNumbers(server);
  describeBadInput(server);
  describeObjectRefusals(server);
  describeRoles(server);
  describeClassPermissions(server);
  describeSettings(server);
  describeConcurrency(server);
  describeServiceRoutes(server);
  // Last: it judges what the tests above have seen.
  describeApiDescription(server);
}
