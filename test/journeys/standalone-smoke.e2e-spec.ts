import { describe, expect, it } from 'vitest';
import { gatepost, startStandalone, useServer } from '#testing';
import { describeInstallations } from './suites/installations.suite.js';
import { describeLockout } from './suites/lockout.suite.js';
import { describeLogin } from './suites/login.suite.js';
import { describePushClient } from './suites/push-client.suite.js';
import { describePushRouter } from './suites/push-router.suite.js';
import { describeSdk } from './suites/sdk.suite.js';
import { describeSignUp } from './suites/sign-up.suite.js';

/** The parts with adapters of their own in this shape: commands, lockouts, device queues. standalone.e2e-spec.ts tests the whole API. */
describe('the standalone server, in short', () => {
  const server = useServer(() => startStandalone());

  it('answers the commands of an operator', async () => {
    expect(await gatepost(server(), 'apps', 'list')).toMatchObject({
      status: 0,
      stdout: expect.stringContaining(server().app.masterKey) as unknown,
    });
  });

  describeSdk(server);
  describeSignUp(server);
  describeLogin(server);
  describeLockout(server);
  describeInstallations(server);
  describePushRouter(server);
  describePushClient(server);
});
