import type { ProcessReport } from '#contracts';

/** A problem that the doctor of the command line and the console show. */
export interface Finding {
  readonly problem: string;
  readonly remedy: string;
  /** The state may be intended. */
  readonly isAdvice?: boolean;
}

/** Tolerated difference between the clocks of a deployment; leases, codes and links live much longer. */
const MAX_SKEW_MS = 2_000;
const NEARLY_FULL_PERCENT = 90;
const SERVER_VERSIONS = 'docs/operations.md, "Running", lists the versions that Gatepost needs.';

const OLDEST: Readonly<Record<string, { readonly needed: string; readonly maintained?: string }>> = {
  postgresql: { needed: '13' },
  redis: { needed: '5.0', maintained: '6.2' },
  rabbitmq: { needed: '3.10' },
};

type ServerReport = ProcessReport['servers'][number];

/** While the broker moves no messages, no service answers: then this is the only finding. */
export function brokerFindings(problem: string | undefined): Finding[] {
  if (problem === undefined) return [];
  return [
    {
      problem: `${quoted(problem)}: requests are answered with 503, and events wait.`,
      remedy: 'docs/operations.md, "RabbitMQ": give it memory or disk. Then everything recovers by itself.',
    },
  ];
}

export function missingReplicas(service: string, answered: number, expected: number): Finding[] {
  if (answered >= expected) return [];
  const problem = `Only ${answered} of ${expected} processes of ${service} have answered.`;
  return [{ problem, remedy: 'Run the doctor again; if the problem persists, read the log of the others.' }];
}

export function baseUrlsOf(reports: readonly ProcessReport[]): string[] {
  return [...new Set(reports.flatMap(({ settings: { baseUrl } }) => (typeof baseUrl === 'string' ? [baseUrl] : [])))];
}

export function isLocal(url: string): boolean {
  return /^(?:localhost|127\.[\d.]+|\[::1\])$/.test(new URL(url).hostname);
}

export function deploymentFindings(reports: readonly ProcessReport[]): Finding[] {
  return [
    ...reports.flatMap(notReady),
    ...mixedVersions(reports),
    ...mixedEnvironments(reports),
    ...gatewayFindings(reports),
    ...serverFindings(reports),
  ];
}

function notReady({ service, host, pid, problems }: ProcessReport): Finding[] {
  if (problems.length === 0) return [];
  const reasons = problems.map((problem) => quoted(problem)).join(', ');
  return [{ problem: `${service} (${pid} on ${host}) is not ready: ${reasons}.`, remedy: 'Its log has details.' }];
}

function mixedVersions(reports: readonly ProcessReport[]): Finding[] {
  const byVersion = [...new Set(reports.map(({ version }) => version))].map((version) => {
    const services = new Set(reports.filter((report) => report.version === version).map(({ service }) => service));
    return `${version} (${[...services].join(', ')})`;
  });
  if (byVersion.length < 2) return [];
  return [
    {
      problem: `Processes have different versions: ${byVersion.join('; ')}.`,
      remedy: 'Expected during an upgrade: complete it.',
    },
  ];
}

function mixedEnvironments(reports: readonly ProcessReport[]): Finding[] {
  const others = [...new Set(reports.filter((report) => !report.isProduction).map(({ service }) => service))];
  if (others.length === 0 || !reports.some((report) => report.isProduction)) return [];
  return [
    {
      problem: `Some processes run with NODE_ENV=production, others without: ${others.join(', ')}.`,
      remedy: 'Set it for all: without it the processes print codes and links on the console.',
    },
  ];
}

/** They help an attacker. */
export function secretFindings(reports: readonly ProcessReport[]): Finding[] {
  const reasons = reports.flatMap(({ settings: { secretWeakness: reason } }) =>
    typeof reason === 'string' ? [reason] : [],
  );
  return [...new Set(reasons)].map((reason) => ({
    problem: `GATEPOST_SECRET can be guessed: ${reason}.`,
    remedy: 'npm run gatepost -- secrets new, and docs/operations.md, "Secrets"',
  }));
}

function gatewayFindings(reports: readonly ProcessReport[]): Finding[] {
  const gateways = reports.filter(({ settings }) => settings['baseUrl'] !== undefined);
  const isProduction = gateways.some((report) => report.isProduction);
  const findings: Finding[] = isProduction ? baseUrlFindings(baseUrlsOf(gateways)) : [];
  if (gateways.some(({ settings }) => settings['hasUnknownProxy'] === true))
    findings.push({
      problem: 'Requests arrive through a proxy that is not trusted: all its clients count as one address.',
      remedy: 'Name it in GATEPOST_TRUSTED_PROXIES.',
    });
  if (isProduction && gateways.some(({ settings }) => settings['areRequestsLimited'] === false))
    findings.push({
      problem: 'Requests, logins or sign-ups of one address are not limited.',
      remedy: 'docs/operations.md, "Limits of requests"',
      isAdvice: true,
    });
  return findings;
}

function baseUrlFindings(baseUrls: readonly string[]): Finding[] {
  const remedy = 'Set GATEPOST_BASE_URL of gateways and mail to the address that clients use.';
  if (baseUrls.length > 1) return [{ problem: `Gateways have different addresses: ${baseUrls.join(', ')}.`, remedy }];
  const [baseUrl = ''] = baseUrls;
  if (isLocal(baseUrl))
    return [{ problem: `Links of mails lead to ${baseUrl}, which is reachable only from that machine.`, remedy }];
  if (baseUrl.startsWith('https:')) return [];
  return [{ problem: `${baseUrl} is not encrypted: passwords and links can be read in transit.`, remedy }];
}

function serverFindings(reports: readonly ProcessReport[]): Finding[] {
  const isProduction = reports.some((report) => report.isProduction);
  const findings = reports.flatMap(({ service, servers }) =>
    servers.flatMap((server) => findingsOf(service, server, isProduction)),
  );
  return [...new Map(findings.map((finding) => [finding.problem, finding])).values()];
}

/** The first word of the name; `redis 10.0.0.1:6379` is a node of a cluster. */
function kindOf(name: string): string {
  return name.split(' ', 1)[0] ?? '';
}

export function versionFindings(name: string, version: string): Finding[] {
  const { needed, maintained } = OLDEST[kindOf(name)] ?? {};
  if (needed !== undefined && isOlder(version, needed))
    return [{ problem: `${name} is version ${quoted(version)}: Gatepost needs ${needed}.`, remedy: SERVER_VERSIONS }];
  if (maintained === undefined || !isOlder(version, maintained)) return [];
  const problem = `${name} is version ${quoted(version)}, which no longer gets fixes.`;
  return [{ problem, remedy: `Use ${maintained} or newer.`, isAdvice: true }];
}

function findingsOf(service: string, { name, problem, facts }: ServerReport, isProduction: boolean): Finding[] {
  if (facts === null)
    return [{ problem: `${service} does not reach ${name}: ${quoted(problem ?? '')}.`, remedy: 'Read its log.' }];
  return [
    ...versionFindings(name, facts.version),
    ...skewFindings(service, name, facts.skewMs),
    ...redisFindings(name, facts.settings, isProduction),
    ...readOnlyFindings(name, facts.settings),
  ];
}

function skewFindings(service: string, name: string, skewMs: number): Finding[] {
  if (Math.abs(skewMs) <= MAX_SKEW_MS) return [];
  const seconds = (Math.abs(skewMs) / 1_000).toFixed(0);
  const direction = skewMs > 0 ? 'ahead of' : 'behind';
  return [
    {
      problem: `The clock of ${name} is ${seconds} seconds ${direction} that of ${service}.`,
      remedy: 'Let NTP set the clocks of all machines.',
    },
  ];
}

function redisFindings(
  name: string,
  { maxmemoryPolicy, appendOnly, memoryPercent }: Readonly<Record<string, string>> = {},
  isProduction: boolean,
): Finding[] {
  if (kindOf(name) !== 'redis') return [];
  const findings: Finding[] = [];
  if (maxmemoryPolicy === 'noeviction' && Number(memoryPercent ?? 0) >= NEARLY_FULL_PERCENT)
    findings.push({
      problem: `${sentenceStart(name)} uses ${memoryPercent} % of its maxmemory: when it is full, pushes wait, and password logins are answered with 503.`,
      remedy: 'Raise maxmemory.',
    });
  if (maxmemoryPolicy !== 'noeviction')
    findings.push({
      problem: `${sentenceStart(name)} evicts keys when its memory is full (maxmemory-policy ${quoted(maxmemoryPolicy ?? '')}): locks, and messages that wait for devices.`,
      remedy: 'Set maxmemory-policy noeviction.',
    });
  if (appendOnly !== 'yes' && isProduction)
    findings.push({
      problem: `${sentenceStart(name)} has no AOF: a restart loses locks, and messages that wait for devices.`,
      remedy: 'Set appendonly yes, and appendfsync everysec.',
    });
  return findings;
}

function readOnlyFindings(name: string, { readOnly }: Readonly<Record<string, string>> = {}): Finding[] {
  if (readOnly !== 'on') return [];
  return [
    {
      problem: `${sentenceStart(name)} is read-only: requests that write are answered with 503.`,
      remedy: 'Make sure that its disk has room, then set default_transaction_read_only to off.',
    },
  ];
}

/** Escapes a text of unknown origin so that it cannot control a terminal. */
export function quoted(text: string): string {
  return JSON.stringify(text).replaceAll(/\p{C}/gu, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return `\\u{${code.toString(16)}}`;
  });
}

function sentenceStart(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1);
}

function isOlder(version: string, oldest: string): boolean {
  const [[major = 0, minor = 0], [oldestMajor = 0, oldestMinor = 0]] = [numbersIn(version), numbersIn(oldest)];
  return major === oldestMajor ? minor < oldestMinor : major < oldestMajor;
}

function numbersIn(version: string): number[] {
  return version.split('.').map((part) => Number.parseInt(part, 10) || 0);
}
