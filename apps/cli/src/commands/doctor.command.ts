import { Command } from 'commander';
import { type Application, applicationsRpc } from '#contracts';
import type { RpcClient } from '#messaging';
import type { Check, Finding } from '../doctor/check.js';
import { checkDeliveries } from '../doctor/deliveries.check.js';
import { checkPlatforms } from '../doctor/platforms.check.js';
import { SilentServiceError, type WithServer } from '../operator-connection.js';
import { print } from '../terminal.js';

const CHECKS: readonly Check[] = [checkPlatforms, checkDeliveries];

/** `gatepost doctor` */
export function doctorCommand(withServer: WithServer): Command {
  return new Command('doctor')
    .description('look for what should be mended, and say how; status 1 where there is something')
    .action(() =>
      withServer(async (rpc) => {
        if (await examine(rpc)) print('No problems found.');
        else process.exitCode = 1;
      }),
    );
}

/** @returns whether all is well */
async function examine(rpc: RpcClient): Promise<boolean> {
  const { applications } = await rpc.call(applicationsRpc.list, {});
  const silent = new Set<string>();
  let isWell = true;
  for (const application of applications) {
    const findings = await findingsOf(rpc, application, silent);
    printFindings(application, findings);
    isWell &&= findings.length === 0;
  }
  for (const service of silent) print(`No ${service} service answers: what depends on it was not looked at.`);
  return isWell && silent.size === 0;
}

async function findingsOf(rpc: RpcClient, application: Application, silent: Set<string>): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const check of CHECKS) findings.push(...(await check(rpc, application).catch(noting(silent))));
  return findings;
}

/** A check whose service does not answer finds nothing; that it does not is told once. */
function noting(silent: Set<string>): (error: unknown) => Finding[] {
  return (error) => {
    if (!(error instanceof SilentServiceError)) throw error;
    silent.add(error.service);
    return [];
  };
}

function printFindings({ id, name }: Application, findings: readonly Finding[]): void {
  if (findings.length === 0) return;
  print(`${name} (${id})`);
  for (const { problem, remedy } of findings) print(`  - ${problem}\n    ${remedy}`);
}
