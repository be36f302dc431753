import type { ProcessReport } from '#contracts';
import { quoted } from '../terminal.js';
import type { Finding } from './check.js';

type ServerReport = ProcessReport['servers'][number];

/** The clocks of one deployment may differ by so much: leases, codes and links are measured in more. */
const MAX_SKEW_MS = 2_000;
const SERVER_VERSIONS = 'docs/operations.md, "Running", says which versions Gatepost needs.';
/** By the kind of a server: what is needed, and what its makers still mend. */
const OLDEST: Readonly<Record<string, { readonly needed: string; readonly mended?: string }>> = {
  postgresql: { needed: '13' },
  redis: { needed: '5.0', mended: '6.2' },
  rabbitmq: { needed: '3.10' },
};

/** What is wrong with the servers that processes use, each told once. */
export function serverFindings(reports: readonly ProcessReport[]): Finding[] {
  const isProduction = reports.some((report) => report.isProduction);
  const findings = reports.flatMap(({ service, servers }) =>
    servers.flatMap((server) => findingsOf(service, server, isProduction)),
  );
  return [...new Map(findings.map((finding) => [finding.problem, finding])).values()];
}

/** The first word of the name: `redis 10.0.0.1:6379` is a node of a cluster. */
function kindOf(name: string): string {
  return name.split(' ', 1)[0] ?? '';
}

/** Whether a server is too old. @param name such as `redis` */
export function versionFindings(name: string, version: string): Finding[] {
  const { needed, mended } = OLDEST[kindOf(name)] ?? {};
  if (needed !== undefined && isOlder(version, needed))
    return [{ problem: `${name} is version ${quoted(version)}: Gatepost needs ${needed}.`, remedy: SERVER_VERSIONS }];
  if (mended === undefined || !isOlder(version, mended)) return [];
  const problem = `${name} is version ${quoted(version)}, which gets no fixes any more.`;
  return [{ problem, remedy: `Take ${mended} or newer.`, isAdvice: true }];
}

/** Where the broker moves no messages, no service can be asked: then this is all that is found. */
export function brokerFindings(problem: string | undefined): Finding[] {
  if (problem === undefined) return [];
  return [
    {
      problem: `${quoted(problem)}: requests get 503, and events wait.`,
      remedy: 'docs/operations.md, "RabbitMQ": give it memory or disk. Everything goes on by itself then.',
    },
  ];
}

function findingsOf(service: string, { name, problem, facts }: ServerReport, isProduction: boolean): Finding[] {
  if (facts === null)
    return [{ problem: `${service} does not reach ${name}: ${quoted(problem ?? '')}.`, remedy: `Look at its log.` }];
  return [
    ...versionFindings(name, facts.version),
    ...skewFindings(service, name, facts.skewMs),
    ...redisFindings(name, facts.settings, isProduction),
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
  { maxmemoryPolicy, appendOnly }: Readonly<Record<string, string>> = {},
  isProduction: boolean,
): Finding[] {
  if (kindOf(name) !== 'redis') return [];
  const findings: Finding[] = [];
  if (maxmemoryPolicy !== 'noeviction')
    findings.push({
      problem: `${sentenceStart(name)} throws away what it likes when its memory is full (maxmemory-policy ${quoted(maxmemoryPolicy ?? '')}): locks, and messages that wait for devices.`,
      remedy: 'Set maxmemory-policy noeviction.',
    });
  if (appendOnly !== 'yes' && isProduction)
    findings.push({
      problem: `${sentenceStart(name)} has no AOF: its restart forgets who is locked, and what waits for devices.`,
      remedy: 'Set appendonly yes, and appendfsync everysec.',
    });
  return findings;
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
