import { connect, type TLSSocket } from 'node:tls';
import { WebSocket } from 'ws';
import { messageOf } from '#errors';
import type { OutsideView, ShownCertificate } from './outside.types.js';

const PATIENCE_MS = 5_000;
const DAY_MS = 86_400_000;
const HTTPS_PORT = 443;
const OPERATORS_PATHS = ['/metrics', '/healthz', '/readyz'] as const;
const PUSH_PROTOCOL = 'gatepost.push.v1';

/** Looks at the API's address as a client does. @param appId for which devices ask where to connect */
export async function lookFromOutside(url: string, appId: string | undefined): Promise<OutsideView> {
  const certificate = url.startsWith('https:') ? await shownCertificate(new URL(url)) : undefined;
  const asked = Date.now();
  const ping = await get(`${url}/1.1/ping`);
  if (!ping.isOk) return { url, certificate, problem: ping.reason, skewMs: undefined, openPaths: [], push: undefined };
  const told = Date.parse(ping.date);
  const open = await Promise.all(OPERATORS_PATHS.map(async (path) => ((await get(url + path)).isOurs ? [path] : [])));
  return {
    url,
    certificate,
    problem: undefined,
    skewMs: Number.isNaN(told) ? undefined : told - (asked + Date.now()) / 2,
    openPaths: open.flat(),
    push: appId === undefined ? undefined : await lookAtPush(url, appId),
  };
}

interface Answer {
  readonly isOk: boolean;
  /** Whether it is what our own processes say under such a path. */
  readonly isOurs: boolean;
  readonly reason: string;
  readonly date: string;
  readonly text: string;
}

async function get(url: string): Promise<Answer> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(PATIENCE_MS), redirect: 'manual' });
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

async function lookAtPush(url: string, appId: string): Promise<OutsideView['push']> {
  const { isOk, reason, text } = await get(`${url}/v1/route?appId=${encodeURIComponent(appId)}`);
  if (!isOk) return { url: `${url}/v1/route`, problem: reason };
  const server = serverIn(text);
  return server === undefined
    ? { url: `${url}/v1/route`, problem: 'it names no address' }
    : { url: server, problem: await refusalOfSocket(server) };
}

/** Something else than a gateway may answer. */
function serverIn(text: string): string | undefined {
  try {
    const { server } = JSON.parse(text) as { server?: unknown };
    return typeof server === 'string' && /^wss?:[^#]*$/.test(server) && URL.canParse(server) ? server : undefined;
  } catch {
    return undefined;
  }
}

/** Why no WebSocket is opened there; undefined where one was, and closed again. */
function refusalOfSocket(url: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = new WebSocket(url, PUSH_PROTOCOL);
    // Who answers byte by byte, or never says goodbye, would keep us as well.
    const limit = setTimeout(() => {
      socket.terminate();
      resolve('no answer in time');
    }, PATIENCE_MS);
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

/** Undefined where nothing answers: that is told otherwise. */
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
    const limit = setTimeout(giveUp, PATIENCE_MS);
    socket.once('error', giveUp);
  });
}
