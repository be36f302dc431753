import { connect, type TLSSocket } from 'node:tls';
import { InvalidArgumentError } from 'commander';
import { WebSocket } from 'ws';
import { type Finding, isLocal, quoted } from '#bootstrap';
import { messageOf } from '#errors';

const TIMEOUT_MS = 5_000;
const DAY_MS = 86_400_000;
const HTTPS_PORT = 443;
const OPERATORS_PATHS = ['/metrics', '/healthz', '/readyz'] as const;
const PUSH_PROTOCOL = 'gatepost.push.v1';
/** Let's Encrypt renews 30 days before the end: with fewer days left, renewal has been failing. */
const FEW_DAYS = 14;
/** The Date header has a resolution of one second. */
const MAX_SKEW_MS = 3_000;

interface ShownCertificate {
  readonly problem: string | undefined;
  readonly daysLeft: number;
}

export interface OutsideView {
  readonly url: string;
  /** Undefined without TLS or a reply. */
  readonly certificate: ShownCertificate | undefined;
  readonly problem: string | undefined;
  /** How far its clock is ahead; undefined without a Date header. */
  readonly skewMs: number | undefined;
  readonly openPaths: readonly string[];
  /** The address that devices get, and why they cannot connect; undefined if it was not checked. */
  readonly push: { readonly url: string; readonly problem: string | undefined } | undefined;
}

interface Answer {
  readonly isOk: boolean;
  readonly isOurs: boolean;
  readonly reason: string;
  readonly date: string;
  readonly text: string;
}

export function addressOf(text: string): string {
  if (/^https?:\/\//.test(text) && URL.canParse(text)) return text.replace(/\/+$/, '');
  throw new InvalidArgumentError('Expected a URL such as https://accounts.example.com.');
}

export function outsideUrl(url: string | undefined, isProduction: boolean, baseUrl = ''): string | undefined {
  return url ?? (isProduction && baseUrl !== '' && !isLocal(baseUrl) ? baseUrl : undefined);
}

/** Checks the API's address as a client does. @param appId application whose push address is checked */
export async function lookFromOutside(url: string, appId: string | undefined): Promise<OutsideView> {
  const certificate = url.startsWith('https:') ? await shownCertificate(new URL(url)) : undefined;
  const asked = Date.now();
  const ping = await get(`${url}/1.1/ping`);
  const problem = ping.isOk && !ping.isOurs ? 'another server answers /1.1/ping' : ping.reason;
  if (!ping.isOk || !ping.isOurs)
    return { url, certificate, problem, skewMs: undefined, openPaths: [], push: undefined };
  const serverTime = Date.parse(ping.date);
  const open = await Promise.all(OPERATORS_PATHS.map(async (path) => ((await get(url + path)).isOurs ? [path] : [])));
  return {
    url,
    certificate,
    problem: undefined,
    skewMs: Number.isNaN(serverTime) ? undefined : serverTime - (asked + Date.now()) / 2,
    openPaths: open.flat(),
    push: appId === undefined ? undefined : await inspectPush(url, appId),
  };
}

async function get(url: string): Promise<Answer> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS), redirect: 'manual' });
    const text = await response.text();
    return {
      isOk: response.status === 200,
      isOurs: /"status":"(?:ok|ready|unavailable)"|process_cpu_user_seconds_total/.test(text),
      reason: `HTTP ${response.status}`,
      date: response.headers.get('date') ?? '',
      text,
    };
  } catch (error) {
    const { cause } = error as { cause?: unknown };
    return { isOk: false, isOurs: false, reason: messageOf(cause ?? error), date: '', text: '' };
  }
}

async function inspectPush(url: string, appId: string): Promise<OutsideView['push']> {
  const { isOk, reason, text } = await get(`${url}/v1/route?appId=${encodeURIComponent(appId)}`);
  if (!isOk) return { url: `${url}/v1/route`, problem: reason };
  const server = serverIn(text);
  return server === undefined
    ? { url: `${url}/v1/route`, problem: 'it names no address' }
    : { url: server, problem: await refusalOfSocket(server) };
}

function serverIn(text: string): string | undefined {
  try {
    const { server } = JSON.parse(text) as { server?: unknown };
    return typeof server === 'string' && /^wss?:[^#]*$/.test(server) && URL.canParse(server) ? server : undefined;
  } catch {
    return undefined;
  }
}

function refusalOfSocket(url: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = new WebSocket(url, PUSH_PROTOCOL);
    // A server that answers byte by byte, or never closes, would block the check.
    const limit = setTimeout(() => {
      socket.terminate();
      resolve('no answer in time');
    }, TIMEOUT_MS);
    socket.once('open', () => {
      socket.close();
      resolve(undefined);
    });
    socket.once('close', () => {
      clearTimeout(limit);
    });
    socket.on('error', (error) => {
      resolve(messageOf(error));
    });
  });
}

/** Undefined if the server does not answer: the request to the API reports that. */
function shownCertificate({ hostname, port }: URL): Promise<ShownCertificate | undefined> {
  return new Promise((resolve) => {
    const host = hostname.replace(/^\[|\]$/g, '');
    const isName = /[a-z]/i.test(host) && !host.includes(':');
    const options = { host, port: Number(port) || HTTPS_PORT, rejectUnauthorized: false };
    const socket: TLSSocket = connect({ ...options, ...(isName ? { servername: host } : {}) }, () => {
      const { valid_to: end } = socket.getPeerCertificate();
      const daysLeft = Math.floor((Date.parse(end) - Date.now()) / DAY_MS);
      const problem = socket.authorized ? undefined : messageOf(socket.authorizationError);
      clearTimeout(limit);
      socket.destroy();
      resolve({ problem, daysLeft });
    });
    const giveUp = () => {
      clearTimeout(limit);
      socket.destroy();
      resolve(undefined);
    };
    const limit = setTimeout(giveUp, TIMEOUT_MS);
    socket.once('error', giveUp);
  });
}

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
      problem: `Clients use ${url}, but the links of mails lead to ${baseUrl}.`,
      remedy: 'Set GATEPOST_BASE_URL of gateways and mail to the address that clients use.',
    },
  ];
}

function certificateFindings({ url, certificate }: OutsideView): Finding[] {
  if (certificate === undefined) return [];
  const remedy = 'Renew it where TLS ends, with all intermediate certificates.';
  if (certificate.problem !== undefined)
    return [{ problem: `The certificate of ${url} is not trusted: ${quoted(certificate.problem)}.`, remedy }];
  if (certificate.daysLeft >= FEW_DAYS) return [];
  return [{ problem: `The certificate of ${url} expires in ${certificate.daysLeft} days.`, remedy }];
}

function apiFindings({ url, problem, skewMs }: OutsideView): Finding[] {
  if (problem !== undefined)
    return [
      {
        problem: `${url} does not answer as the API: ${quoted(problem)}.`,
        remedy: "Check the proxy in front of it, and that the port is the gateway's, not the console's.",
      },
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
      problem: `Paths for operators are open to the public: ${openPaths.map((path) => url + path).join(', ')}.`,
      remedy: 'Let the proxy in front of it pass only /1.1/, /v1/route, /pages/ and /push.',
    },
  ];
}

function pushFindings({ url, push }: OutsideView): Finding[] {
  if (push === undefined) return [];
  const findings: Finding[] = [];
  if (push.problem !== undefined)
    findings.push({
      problem: `Devices are sent to ${quoted(push.url)}, which accepts no connection: ${quoted(push.problem)}.`,
      remedy: 'Set GATEPOST_PUSH_URL to the address at which devices reach the connectors.',
    });
  if (url.startsWith('https:') && push.url.startsWith('ws:'))
    findings.push({
      problem: `The API is encrypted, but devices are sent to ${quoted(push.url)}.`,
      remedy: 'Set GATEPOST_PUSH_URL to an address that begins with wss:.',
    });
  return findings;
}
