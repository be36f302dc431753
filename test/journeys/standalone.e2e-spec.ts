import { describe } from 'vitest';
import { startStandalone, useServer } from '#testing';
import { describeBadInput } from './suites/bad-input.suite.js';
import { describeChanging } from './suites/changing.suite.js';
import { describeConcurrency } from './suites/concurrency.suite.js';
import { describeCredentials } from './suites/credentials.suite.js';
import { describeListing } from './suites/listing.suite.js';
import { describeLogin } from './suites/login.suite.js';
import { describeReading } from './suites/reading.suite.js';
import { describeSdk } from './suites/sdk.suite.js';
import { describeServiceRoutes } from './suites/service-routes.suite.js';
import { describeSettings } from './suites/settings.suite.js';
import { describeSignUp } from './suites/sign-up.suite.js';

describe('the standalone server', () => {
  const server = useServer(() => startStandalone());

  describeSdk(server);
  describeCredentials(server);
  describeSignUp(server);
  describeLogin(server);
  describeReading(server);
  describeChanging(server);
  describeListing(server);
  describeBadInput(server);
  describeSettings(server);
  describeConcurrency(server);
  describeServiceRoutes(server);
});
