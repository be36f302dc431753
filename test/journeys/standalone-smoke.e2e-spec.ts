import { describe } from 'vitest';
import { startStandalone, useServer } from '#testing';
import { describeDoctor } from './suites/doctor.suite.js';
import { describeEmails } from './suites/emails.suite.js';
import { describeInstallations } from './suites/installations.suite.js';
import { describeLockout } from './suites/lockout.suite.js';
import { describeLogin } from './suites/login.suite.js';
import { describePushClient } from './suites/push-client.suite.js';
import { describePushRouter } from './suites/push-router.suite.js';
import { describeSdk } from './suites/sdk.suite.js';
import { describeSettings } from './suites/settings.suite.js';
import { describeSignUp } from './suites/sign-up.suite.js';

/** What this shape does with adapters of its own: commands, events, lockouts, device queues. All the rest: standalone.e2e-spec.ts. */
describe('the standalone server, in short', () => {
  const server = useServer(() => startStandalone());
  describeSdk(server);
  describeSignUp(server);
  describeLogin(server);
  describeLockout(server);
  describeEmails(server);
  describeSettings(server);
  describeInstallations(server);
  describePushRouter(server);
  describePushClient(server);
  describeDoctor(server);
});
