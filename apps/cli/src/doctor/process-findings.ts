import type { ProcessReport } from '#contracts';
import { quoted } from '../terminal.js';
import type { Finding } from './check.js';

/** The processes of one service that have answered. */
export interface ServiceReports {
  readonly service: string;
  readonly reports: readonly ProcessReport[];
  /** How many there are. */
  readonly expected: number;
}

/** What is wrong with processes, one by one and together. */
export function processFindings(services: readonly ServiceReports[]): Finding[] {
  const reports = services.flatMap((one) => one.reports);
  return [
    ...services.flatMap(missingReplicas),
    ...reports.flatMap(notReady),
    ...mixedVersions(reports),
    ...mixedEnvironments(reports),
    ...weakSecrets(reports),
    ...gatewayFindings(reports),
  ];
}

/** Where clients find the API, as its gateways say. */
export function baseUrlsOf(reports: readonly ProcessReport[]): string[] {
  return [...new Set(reports.flatMap(({ settings: { baseUrl } }) => (typeof baseUrl === 'string' ? [baseUrl] : [])))];
}

/** Whether an address leads to the machine that asks. */
export function isLocal(url: string): boolean {
  return /^(?:localhost|127\.[\d.]+|\[::1\])$/.test(new URL(url).hostname);
}

function missingReplicas({ service, reports, expected }: ServiceReports): Finding[] {
  if (reports.length >= expected) return [];
  return [
    {
      problem: `Only ${reports.length} of ${expected} processes of ${service} have answered.`,
      remedy: 'Run the doctor again; where it stays so, look at the log of the others.',
    },
  ];
}

function notReady({ service, host, pid, problems }: ProcessReport): Finding[] {
  if (problems.length === 0) return [];
  const reasons = problems.map((problem) => quoted(problem)).join(', ');
  return [{ problem: `${service} (${pid} on ${host}) is not ready: ${reasons}.`, remedy: 'Its log says more.' }];
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
      remedy: 'Right during an upgrade: bring it to its end.',
    },
  ];
}

function mixedEnvironments(reports: readonly ProcessReport[]): Finding[] {
  const others = [...new Set(reports.filter((report) => !report.isProduction).map(({ service }) => service))];
  if (others.length === 0 || !reports.some((report) => report.isProduction)) return [];
  return [
    {
      problem: `Some processes run with NODE_ENV=production, others without: ${others.join(', ')}.`,
      remedy: 'Set it for all: without it codes and links are shown on the console.',
    },
  ];
}

function weakSecrets(reports: readonly ProcessReport[]): Finding[] {
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
      problem: 'Requests come by a proxy that is not trusted: all its clients count as one address.',
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
  if (isLocal(baseUrl)) return [{ problem: `Links of mails lead to ${baseUrl}, which nobody else reaches.`, remedy }];
  if (baseUrl.startsWith('https:')) return [];
  return [{ problem: `${baseUrl} is not encrypted: passwords and links can be read on their way.`, remedy }];
}
