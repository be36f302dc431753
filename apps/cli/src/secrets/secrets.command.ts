import { randomBytes } from 'node:crypto';
import { Command } from 'commander';
import { StartError } from '#bootstrap';
import { keptSecretsRpc } from '#contracts';
import type { RpcClient } from '#messaging';
import type { Deployment, WithServer } from '../operator-connection.js';
import { print } from '../terminal.js';
import { rotate, surveyed } from './sealed-values.js';
import { judgeSurvey, surveyLines, type Verdict } from './survey.rules.js';

const SECRET_BYTES = 32;

/** `gatepost secrets …` */
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
      'say what is sealed with which secret, and what still needs an accepted one; status 1 where something does',
    )
    .action(() =>
      withServer(async (rpc, deployment) => {
        const survey = await surveyed(rpc, deployment);
        for (const line of surveyLines(survey)) print(line);
        tell(judgeSurvey(survey, new Date()));
      }),
    );
}

function rotateSecrets(withServer: WithServer): Command {
  return new Command('rotate')
    .description(
      'seal anew, with GATEPOST_SECRET, whatever GATEPOST_ACCEPTED_SECRETS have sealed; may run as often as you like',
    )
    .action(() =>
      withServer(async (rpc, deployment) => {
        if (!(await rotate(rpc, deployment))) process.exitCode = 1;
        print('"secrets status" says when the accepted secrets can go.');
      }),
    );
}

function swap(withServer: WithServer): Command {
  return new Command('swap')
    .description('one process: make a new secret in the data folder, and accept the old one; restart the server then')
    .action(() =>
      withServer(async (rpc, { isOneProcess }) => {
        assertOneProcess(isOneProcess);
        await rpc.call(keptSecretsRpc.swap, {});
        print('A new secret counts from the next start on. Restart the server, then run "secrets rotate".');
      }),
    );
}

function forget(withServer: WithServer): Command {
  return new Command('forget')
    .description('one process: forget the old secret once nothing needs it any more; restart the server then')
    .action(() =>
      withServer(async (rpc, deployment) => {
        assertOneProcess(deployment.isOneProcess);
        const verdict = await verdictOf(rpc, deployment);
        if (verdict.needs.length > 0) tell(verdict);
        else {
          await rpc.call(keptSecretsRpc.forget, {});
          print('The old secret is forgotten from the next start on.');
        }
      }),
    );
}

async function verdictOf(rpc: RpcClient, deployment: Deployment): Promise<Verdict> {
  return judgeSurvey(await surveyed(rpc, deployment), new Date());
}

function tell({ lost, needs, hasAccepted }: Verdict): void {
  for (const one of lost) print(`No secret opens ${one}.`);
  for (const one of needs) print(`An accepted secret is needed by ${one}.`);
  if (needs.length === 0)
    print(hasAccepted ? 'No accepted secret is needed any more.' : 'No secret but the current one is accepted.');
  if (lost.length + needs.length > 0) process.exitCode = 1;
}

function assertOneProcess(isOneProcess: boolean): void {
  if (!isOneProcess)
    throw new StartError('Services have their secrets in GATEPOST_SECRET and GATEPOST_ACCEPTED_SECRETS: change those.');
}
