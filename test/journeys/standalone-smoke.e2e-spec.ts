import { describe, expect, it } from 'vitest';
import { gatepostProcess, startStandalone, useServer } from '#testing';
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
    const { app } = server();
    expect(await gatepostProcess(server(), ['apps', 'list'])).toMatchObject({
      status: 0,
      stdout: expect.stringContaining(app.masterKey) as unknown,
    });
    const set = ['templates', 'set', app.id, 'resetPassword', '--text', '-'];
    expect(await gatepostProcess(server(), set, 'Go: {{link}}')).toMatchObject({ status: 0, stderr: '' });
    expect((await gatepostProcess(server(), ['templates', 'show', app.id, 'resetPassword'])).stdout).toContain(
      'Go: {{link}}',
    );
    expect(await gatepostProcess(server(), ['apps', 'show', 'unknown'])).toMatchObject({ status: 1, stdout: '' });
  });

  describeSdk(server);
  describeSignUp(server);
  describeLogin(server);
  describeLockout(server);
  describeInstallations(server);
  describePushRouter(server);
  describePushClient(server);
});
