import { Command } from 'commander';
import {
  baseUrlsOf,
  brokerFindings,
  deploymentFindings,
  type Finding,
  missingReplicas,
  quoted,
  secretFindings,
  versionFindings,
} from '#bootstrap';
import {
  type Application,
  applicationsRpc,
  deliveriesRpc,
  diagnosticsRpc,
  identitiesRpc,
  isUnionIdEntryName,
  MAX_DELIVERY_LIST_LIMIT,
  platformFields,
  type PlatformKind,
  platformsRpc,
  type ProcessReport,
  type RpcReply,
  type ShownCredentials,
  type ShownDelivery,
  type VendorLaneState,
  vendorsRpc,
} from '#contracts';
import { AppError } from '#errors';
import type { RpcClient } from '#messaging';
import { usageOf } from '../commands/credentials.command.js';
import { callReplicas, type Deployment, SilentServiceError, type WithServer } from '../operator-connection.js';
import { print, reportFailure } from '../terminal.js';
import { addressOf, lookFromOutside, outsideFindings, outsideUrl } from './outside.js';

const SHORT_KEY = 16;
const FEW_CHARACTERS = 6;
const LONG_MS = 10 * 60_000;
const { standalone, ...SERVICES } = diagnosticsRpc;
const CHECKS = { platforms: checkPlatforms, messages: checkDeliveries, vendors: checkVendorLanes };
const CHECK_REMEDY = 'Solve the problems of the deployment first. If this one stays, read the log of the service.';

interface Section {
  readonly title: string;
  readonly findings: readonly Finding[];
}

interface Diagnosis {
  readonly sections: readonly Section[];
  readonly silent: readonly string[];
}

/** Checks without an answer, as during an outage; `failures` has the ids of applications by text. The other findings are shown all the same. */
type Gaps = Readonly<Record<'silent', string[]> & Record<'failures', Map<string, string[]>>>;

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

async function diagnose(rpc: RpcClient, deployment: Deployment, url: string | undefined): Promise<Diagnosis> {
  const gaps: Gaps = { silent: [], failures: new Map() };
  const { reports, findings } = await diagnoseDeployment(rpc, deployment, gaps.silent);
  const blockage = brokerFindings(deployment.brokerProblem());
  if (blockage.length > 0) return { sections: [{ title: 'Deployment', findings: blockage }], silent: [] };
  const isProduction = reports.some((report) => report.isProduction);
  const { applications = [] } = (await rpc.call(applicationsRpc.list, {}).catch(recordGap(gaps, 'applications'))) ?? {};
  const sections: Section[] = [{ title: 'Deployment', findings }];
  const [baseUrl] = baseUrlsOf(reports);
  const outside = outsideUrl(url, isProduction, baseUrl);
  if (outside !== undefined) {
    const view = await lookFromOutside(outside, applications[0]?.id);
    sections.push({ title: `From outside (${outside})`, findings: outsideFindings(view, baseUrl) });
  }
  for (const application of applications) {
    const found = [...(await checked(rpc, application, gaps)), ...applicationFindings(application, isProduction)];
    sections.push({ title: `${application.name} (${application.id})`, findings: found });
  }
  findings.push(...gapFindings(gaps));
  return { sections: sections.filter((section) => section.findings.length > 0), silent: [...new Set(gaps.silent)] };
}

/** @param silent collects the needed services without any reply */
async function diagnoseDeployment(
  rpc: RpcClient,
  deployment: Deployment,
  silent: string[],
): Promise<{ readonly reports: readonly ProcessReport[]; readonly findings: Finding[] }> {
  const contracts = deployment.isOneProcess ? [standalone] : Object.values(SERVICES);
  const reports: ProcessReport[] = [];
  const missing: Finding[] = [];
  for (const contract of contracts) {
    const [service = ''] = contract.pattern.split('.', 1);
    const replies = await callReplicas(rpc, deployment, contract).catch((error: unknown) => {
      if (!(error instanceof SilentServiceError)) throw error;
      if (service !== 'console') silent.push(service);
    });
    if (replies === undefined) continue;
    reports.push(...replies.answers);
    missing.push(...missingReplicas(service, replies.answers.length, replies.expected));
  }
  const broker = deployment.brokerVersion === undefined ? [] : versionFindings('rabbitmq', deployment.brokerVersion);
  return { reports, findings: [...missing, ...deploymentFindings(reports), ...secretFindings(reports), ...broker] };
}

async function checked(rpc: RpcClient, application: Application, gaps: Gaps): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const [name, check] of Object.entries(CHECKS))
    findings.push(...((await check(rpc, application).catch(recordGap(gaps, name, application.id))) ?? []));
  return findings;
}

function recordGap({ silent, failures }: Gaps, check: string, ...ids: readonly string[]): (error: unknown) => void {
  return (error) => {
    if (error instanceof SilentServiceError) return void silent.push(error.service);
    if (!(error instanceof AppError)) throw error;
    const failure = `The check of ${check} failed: ${quoted(error.message)}`;
    failures.set(failure, [...(failures.get(failure) ?? []), ...ids]);
  };
}

function gapFindings({ failures }: Gaps): Finding[] {
  return [...failures].map(([failure, ids]) => {
    const of = ids.length > 1 ? `${ids.length} applications` : ids.join('');
    return { problem: `${failure}${of === '' ? '' : ` (${of})`}.`, remedy: CHECK_REMEDY };
  });
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

type UsedPlatform = RpcReply<typeof identitiesRpc.count>['platforms'][number];

interface KnownPlatform extends UsedPlatform {
  readonly kind: PlatformKind;
}

interface PlatformUse {
  readonly id: string;
  readonly isVerificationRequired: boolean;
  readonly credentials: readonly ShownCredentials[];
  readonly used: readonly UsedPlatform[];
}

export function applicationFindings({ id, masterKey, settings }: Application, isProduction: boolean): Finding[] {
  const findings: Finding[] = [];
  if (masterKey.length < SHORT_KEY || new Set(masterKey).size < FEW_CHARACTERS)
    findings.push({
      problem: 'The master key can be guessed, and gives access to everything.',
      remedy: `npm run gatepost -- apps rotate-keys ${id} --master-key --keep-old 1h`,
    });
  if (!isProduction) return findings;
  if (settings.allowClientPush)
    findings.push({
      problem: 'Every client may send pushes to all devices.',
      remedy: `npm run gatepost -- apps set ${id} allowClientPush false`,
      isAdvice: true,
    });
  const off = (['verifyEmailOnSignUp', 'quietProfile', 'hideContact'] as const).filter((name) => !settings[name]);
  if (off.length > 0)
    findings.push({
      problem: `Off: ${off.join(', ')}.`,
      remedy: 'docs/security.md, "Before you go public", explains these settings.',
      isAdvice: true,
    });
  return findings;
}

async function checkDeliveries(rpc: RpcClient, { id: appId }: Application): Promise<Finding[]> {
  const to = new Date(Date.now() - LONG_MS).toISOString();
  const waiting = (status: ShownDelivery['status']) =>
    rpc.call(deliveriesRpc.list, { appId, status, to, limit: MAX_DELIVERY_LIST_LIMIT });
  const pages = await Promise.all([waiting('queued'), waiting('failed')]);
  const late = pages.flatMap(({ deliveries }) => deliveries);
  const isMore = pages.some(({ next }) => next !== null);
  return deliveryFindings(appId, late, isMore);
}

/** Messages that wait need an action of the operator, recipients that refuse a message do not. */
export function deliveryFindings(appId: string, late: readonly ShownDelivery[], isMore: boolean): Finding[] {
  if (late.length === 0) return [];
  const subject = late.length === 1 ? 'mail or text message has' : 'mails or text messages have';
  const error = late.find(({ lastError }) => lastError !== null)?.lastError ?? 'no attempt was made yet';
  return [
    {
      problem: `${late.length}${isMore ? ' or more' : ''} ${subject} been waiting for over 10 minutes: ${quoted(error)}.`,
      remedy: `npm run gatepost -- mails list --app ${appId}`,
    },
  ];
}

async function checkVendorLanes(rpc: RpcClient, { id: appId }: Application): Promise<Finding[]> {
  const { lanes, senders } = await rpc.call(vendorsRpc.listLanes, { appId });
  return vendorFindings(appId, lanes, senders);
}

export function vendorFindings(appId: string, lanes: readonly VendorLaneState[], senders: number): Finding[] {
  const waiting = lanes.reduce((sum, { devices }) => sum + devices, 0);
  const doubted = vendorsOf(lanes.filter(({ isDoubted }) => isDoubted));
  const paused = vendorsOf(lanes.filter(({ isPaused, devices }) => isPaused && devices > 0));
  const findings: Finding[] = [];
  if (waiting > 0 && senders === 0)
    findings.push({
      problem: `Pushes to ${waiting} devices of vendors wait, and no process sends them.`,
      remedy: 'Start push-delivery with the role sender (GATEPOST_PUSH_ROLES).',
    });
  for (const vendor of doubted)
    findings.push({
      problem: `${vendor} calls so many tokens invalid that none is removed: the credentials may be those of another app.`,
      remedy: `Correct them, or if they are right: npm run gatepost -- vendors trust ${appId} ${vendor}`,
    });
  for (const vendor of paused)
    findings.push({
      problem: `${vendor} is paused, and devices wait for it.`,
      remedy: `npm run gatepost -- vendors resume ${appId} ${vendor}`,
      isAdvice: true,
    });
  return findings;
}

function vendorsOf(lanes: readonly VendorLaneState[]): string[] {
  return [...new Set(lanes.map(({ lane }) => lane.split('/', 1)[0] ?? ''))];
}

async function checkPlatforms(rpc: RpcClient, { id, settings }: Application): Promise<Finding[]> {
  const { platforms: credentials } = await rpc.call(platformsRpc.list, { appId: id });
  const { platforms: used } = await rpc.call(identitiesRpc.count, { appId: id });
  return platformFindings({ id, isVerificationRequired: settings.requireVerifiedPlatforms, credentials, used });
}

export function platformFindings({ id, isVerificationRequired, credentials, used }: PlatformUse): Finding[] {
  const verifiable = new Map(credentials.map(({ platform, kind }) => [platform, kind]));
  const kindNamed = (key: string) => used.find(({ platform, kind }) => platform === key && kind !== undefined)?.kind;
  const known = used.flatMap((use) => {
    const kind = use.kind ?? verifiable.get(use.platform) ?? kindNamed(use.platform);
    // The account that carries a union id is counted under its own platform.
    return kind === undefined || isUnionIdEntryName(use.platform) ? [] : [{ ...use, kind }];
  });
  const isVerifiable = ({ platform, kind }: KnownPlatform) => verifiable.has(platform) || verifiable.has(kind);
  const findings = known.flatMap((use) => (isVerifiable(use) ? unverifiedAccounts(use) : [noCredentials(id, use)]));
  if (credentials.length > 0 && !isVerificationRequired) findings.push(notRequired(id));
  return findings;
}

function noCredentials(id: string, { platform, kind, verified, unverified }: KnownPlatform): Finding {
  const option = platform === kind ? '' : ` --kind ${kind}`;
  return {
    problem: `${accounts(verified + unverified, platform)} in use, and the application has no credentials to verify them: a client that knows the id of an account can log in as its owner.`,
    remedy: `npm run gatepost -- platforms set ${id} ${platform} ${usageOf(platformFields(kind))}${option}`,
  };
}

function unverifiedAccounts({ platform, unverified }: KnownPlatform): Finding[] {
  if (unverified === 0) return [];
  const problem = `${accounts(unverified, platform)} linked to users without ${platform} ever having confirmed it: they may belong to other people.`;
  return [{ problem, remedy: 'An account counts as verified as soon as its owner logs in with it.' }];
}

function notRequired(id: string): Finding {
  return {
    problem: 'Credentials of platforms are set, but accounts of other platforms are accepted unverified.',
    remedy: `npm run gatepost -- apps set ${id} requireVerifiedPlatforms true`,
  };
}

function accounts(count: number, platform: string): string {
  return count === 1 ? `1 account of ${platform} is` : `${count} accounts of ${platform} are`;
}
