import { quoted } from '../terminal.js';
import type { Finding } from './check.js';
import type { OutsideView } from './outside.types.js';

/** Let's Encrypt renews 30 days before the end: what has less than this has failed for a while. */
const FEW_DAYS = 14;
/** The header has whole seconds. */
const MAX_SKEW_MS = 3_000;

/** What is wrong with what clients find. @param baseUrl what gateways take for their address */
export function outsideFindings(view: OutsideView, baseUrl: string | undefined): Finding[] {
  return [
    ...addressFindings(view, baseUrl),
    ...certificateFindings(view),
    ...apiFindings(view),
    ...pathFindings(view),
    ...pushFindings(view),
  ];
}

function addressFindings({ url }: OutsideView, baseUrl: string | undefined): Finding[] {
  if (baseUrl === undefined || new URL(baseUrl).origin === new URL(url).origin) return [];
  return [
    {
      problem: `Clients come to ${url}, and the links of mails lead to ${baseUrl}.`,
      remedy: 'Set GATEPOST_BASE_URL of gateways and mail to the address that clients use.',
    },
  ];
}

function certificateFindings({ url, certificate }: OutsideView): Finding[] {
  if (certificate === undefined) return [];
  const remedy = 'Renew it where TLS ends, with all certificates between it and a known authority.';
  if (certificate.problem !== undefined)
    return [{ problem: `The certificate of ${url} is not trusted: ${quoted(certificate.problem)}.`, remedy }];
  if (certificate.daysLeft >= FEW_DAYS) return [];
  return [{ problem: `The certificate of ${url} ends in ${certificate.daysLeft} days.`, remedy }];
}

function apiFindings({ url, problem, skewMs }: OutsideView): Finding[] {
  if (problem !== undefined)
    return [
      { problem: `${url} does not answer as the API: ${quoted(problem)}.`, remedy: 'Look at the proxy in front.' },
    ];
  if (skewMs === undefined || Math.abs(skewMs) <= MAX_SKEW_MS) return [];
  return [
    {
      problem: `The clock behind ${url} differs from this machine's by ${(Math.abs(skewMs) / 1_000).toFixed(0)} seconds.`,
      remedy: 'Let NTP set the clocks of all machines.',
    },
  ];
}

function pathFindings({ url, openPaths }: OutsideView): Finding[] {
  if (openPaths.length === 0) return [];
  return [
    {
      problem: `Anybody can read ${openPaths.map((path) => url + path).join(', ')}.`,
      remedy: 'Let the proxy in front pass /1.1/, /v1/route, /pages/ and /push only.',
    },
  ];
}

function pushFindings({ url, push }: OutsideView): Finding[] {
  if (push === undefined) return [];
  const findings: Finding[] = [];
  if (push.problem !== undefined)
    findings.push({
      problem: `Devices are sent to ${quoted(push.url)}, which takes no connection: ${quoted(push.problem)}.`,
      remedy: 'Set GATEPOST_PUSH_URL to the address at which devices reach the connectors.',
    });
  if (url.startsWith('https:') && push.url.startsWith('ws:'))
    findings.push({
      problem: `The API is encrypted, but devices are sent to ${quoted(push.url)}.`,
      remedy: 'Set GATEPOST_PUSH_URL to an address that begins with wss:.',
    });
  return findings;
}
