import { randomBytes } from 'node:crypto';
import { Command } from 'commander';
import { StartError } from '#bootstrap';
import { storedSecretsRpc } from '#contracts';
import type { RpcClient } from '#messaging';
import type { Deployment, WithServer } from '../operator-connection.js';
import { print, reportFailure } from '../terminal.js';
import { assessSurvey, rotate, surveyLines, takeSurvey, type Verdict } from './sealed-values.js';

const SECRET_BYTES = 32;

export function secretsCommand(withServer: WithServer): Command {
  const secrets = new Command('secrets')
    .description('replace GATEPOST_SECRET while it is in use')
    .addHelpText('after', '\nThe steps: docs/operations.md, "Secrets".');
  secrets.addCommand(makeNew());
  for (const command of [status, rotateSecrets, swap, forget]) secrets.addCommand(command(withServer));
  return secrets;
}

function makeNew(): Command {
  return new Command('new').description('print a random secret').action(() => {
    print(randomBytes(SECRET_BYTES).toString('base64url'));
  });
}

function status(withServer: WithServer): Command {
  return new Command('status')
    .description(
      'count sealed values by secret, and show what still needs an accepted one; exit status 1 if anything does',
    )
    .action(() =>
      withServer(async (rpc, deployment) => {
        const survey = await takeSurvey(rpc, deployment);
        for (const line of surveyLines(survey)) print(line);
        printVerdict(assessSurvey(survey, new Date()));
      }),
    );
}

function rotateSecrets(withServer: WithServer): Command {
  return new Command('rotate')
    .description('re-encrypt with GATEPOST_SECRET all values sealed with GATEPOST_ACCEPTED_SECRETS; safe to repeat')
    .action(() =>
      withServer(async (rpc, deployment) => {
        const work = () => rotate(rpc, deployment);
        const isWhole = await rpc.record({ action: 'rotateSecret', change: {} }, work, (isDone) => isDone);
        if (!isWhole) reportFailure();
        print('"secrets status" shows when the accepted secrets can be removed.');
      }),
    );
}

function swap(withServer: WithServer): Command {
  return new Command('swap')
    .description('standalone: create a new secret in the data folder, and accept the old one; then restart the server')
    .action(() =>
      withServer(async (rpc, { isOneProcess }) => {
        assertOneProcess(isOneProcess);
        await rpc.call(storedSecretsRpc.swap, {});
        print('The new secret takes effect at the next start. Restart the server, then run "secrets rotate".');
      }),
    );
}

function forget(withServer: WithServer): Command {
  return new Command('forget')
    .description('standalone: delete the old secret when nothing needs it any longer; then restart the server')
    .action(() =>
      withServer(async (rpc, deployment) => {
        assertOneProcess(deployment.isOneProcess);
        const verdict = await verdictOf(rpc, deployment);
        if (verdict.needs.length > 0) printVerdict(verdict);
        else {
          await rpc.call(storedSecretsRpc.forget, {});
          print('The old secret is deleted. Restart the server.');
        }
      }),
    );
}

async function verdictOf(rpc: RpcClient, deployment: Deployment): Promise<Verdict> {
  return assessSurvey(await takeSurvey(rpc, deployment), new Date());
}

function printVerdict({ lost, needs, hasAccepted }: Verdict): void {
  for (const one of lost) print(`No secret opens ${one}.`);
  for (const one of needs) print(`An accepted secret is needed by ${one}.`);
  if (needs.length === 0)
    print(hasAccepted ? 'No accepted secret is needed any longer.' : 'No secret but the current one is accepted.');
  if (lost.length + needs.length > 0) reportFailure();
}

function assertOneProcess(isOneProcess: boolean): void {
  if (!isOneProcess)
    throw new StartError(
      'Services read their secrets from GATEPOST_SECRET and GATEPOST_ACCEPTED_SECRETS: change these variables.',
    );
}
