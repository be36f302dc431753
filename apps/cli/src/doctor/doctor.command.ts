import { Command, InvalidArgumentError } from 'commander';
import { type Application, applicationsRpc } from '#contracts';
import type { RpcClient } from '#messaging';
import { type Deployment, SilentServiceError, type WithServer } from '../operator-connection.js';
import { print, reportFailure } from '../terminal.js';
import { applicationFindings, checkDeliveries, checkPlatforms, checkVendorLanes } from './application-findings.js';
import { baseUrlsOf, brokerFindings, examineDeployment, type Finding, isLocal } from './deployment-findings.js';
import { lookFromOutside, outsideFindings } from './outside.js';

const CHECKS = [checkPlatforms, checkDeliveries, checkVendorLanes];

interface Section {
  readonly title: string;
  readonly findings: readonly Finding[];
}

interface Diagnosis {
  readonly sections: readonly Section[];
  /** Services without any reply. */
  readonly silent: readonly string[];
}

interface DoctorOptions {
  readonly url?: string;
  readonly json?: true;
}

export function doctorCommand(withServer: WithServer): Command {
  return new Command('doctor')
    .description('find problems of the deployment, and show how to fix them; exit status 1 if there are any')
    .option(
      '--url <url>',
      'address at which to check the API from this machine (in production: GATEPOST_BASE_URL)',
      addressOf,
    )
    .option('--json', 'print JSON')
    .action(({ url, json }: DoctorOptions) =>
      withServer(async (rpc, deployment) => {
        const diagnosis = await diagnose(rpc, deployment, url);
        if (json === true) print(JSON.stringify(diagnosis));
        else printDiagnosis(diagnosis);
        if (!isWell(diagnosis)) reportFailure();
      }),
    );
}

function addressOf(text: string): string {
  if (/^https?:\/\//.test(text) && URL.canParse(text)) return text.replace(/\/+$/, '');
  throw new InvalidArgumentError('Expected a URL such as https://accounts.example.com.');
}

async function diagnose(rpc: RpcClient, deployment: Deployment, url: string | undefined): Promise<Diagnosis> {
  const silent = new Set<string>();
  const { reports, findings } = await examineDeployment(rpc, deployment, silent);
  const blockage = brokerFindings(deployment.brokerProblem());
  if (blockage.length > 0) return { sections: [{ title: 'Deployment', findings: blockage }], silent: [] };
  const isProduction = reports.some((report) => report.isProduction);
  const { applications } = await rpc.call(applicationsRpc.list, {});
  const sections: Section[] = [{ title: 'Deployment', findings }];
  const [baseUrl] = baseUrlsOf(reports);
  const outside = url ?? (isProduction && baseUrl !== undefined && !isLocal(baseUrl) ? baseUrl : undefined);
  if (outside !== undefined) {
    const view = await lookFromOutside(outside, applications[0]?.id);
    sections.push({ title: `From outside (${outside})`, findings: outsideFindings(view, baseUrl) });
  }
  for (const application of applications) {
    const found = [...(await checked(rpc, application, silent)), ...applicationFindings(application, isProduction)];
    sections.push({ title: `${application.name} (${application.id})`, findings: found });
  }
  return { sections: sections.filter((section) => section.findings.length > 0), silent: [...silent] };
}

async function checked(rpc: RpcClient, application: Application, silent: Set<string>): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const check of CHECKS) findings.push(...(await check(rpc, application).catch(recordSilence(silent))));
  return findings;
}

function recordSilence(silent: Set<string>): (error: unknown) => Finding[] {
  return (error) => {
    if (!(error instanceof SilentServiceError)) throw error;
    silent.add(error.service);
    return [];
  };
}

function isWell({ sections, silent }: Diagnosis): boolean {
  return silent.length === 0 && sections.every(({ findings }) => findings.every(({ isAdvice }) => isAdvice === true));
}

function printDiagnosis(diagnosis: Diagnosis): void {
  for (const { title, findings } of diagnosis.sections) {
    print(title);
    for (const { problem, remedy, isAdvice } of findings)
      print(`  - ${isAdvice === true ? 'To consider: ' : ''}${problem}\n    ${remedy}`);
  }
  for (const service of diagnosis.silent) print(`No ${service} service answers: checks that need it were skipped.`);
  if (isWell(diagnosis)) print('No problems found.');
}
