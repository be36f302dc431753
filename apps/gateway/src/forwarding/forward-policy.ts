import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { CLASS_NAMES } from '#contracts';
import { appError } from '#errors';
import { MAX_MESSAGE_BYTES } from '#messaging';
import { isJsonObject } from '#objects';
import type { StreamedAnswer } from '#outbound';
import { originsOf, OVERRIDE_PATH } from '../http/sub-request.js';

const IDENTITY_HEADER = 'x-gatepost-identity';
/** Marks a forwarded request, so that a loop is noticed. */
const FORWARDED_HEADER = 'x-gatepost-forwarded';
/** The name of this proxy in `Via` (RFC 9110, 7.6.3). */
const PSEUDONYM = 'gatepost';

const FORWARDED_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']);
/** The objects of these classes are here: another server has none, or old ones. */
const OWN_CLASSES: ReadonlySet<string> = new Set([...CLASS_NAMES, '_Notification']);
/** Headers of one connection (RFC 9110, 7.6.1), and those that proxies treat alike. */
const HOP_BY_HOP = [
  'connection',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authentication-info',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
];
/** Headers of a client that the target does not get: those that this server sets itself, cookies of the domain, and addresses that can be forged. */
const KEPT_FROM_TARGET = new Set([
  ...HOP_BY_HOP,
  'cf-connecting-ip',
  'content-length',
  'cookie',
  'expect',
  'forwarded',
  'host',
  'true-client-ip',
  'via',
  'x-client-ip',
  'x-real-ip',
  'x-request-id',
]);
const KEPT_FROM_TARGET_PREFIXES = ['x-forwarded-', 'x-gatepost-'];
/** Headers of an answer that this server sets itself, and those that concern all of the host name, not the answer alone. */
const KEPT_FROM_CLIENT = new Set([
  ...HOP_BY_HOP,
  'alt-svc',
  'clear-site-data',
  'content-security-policy',
  'content-security-policy-report-only',
  'date',
  'nel',
  'origin-agent-cluster',
  'public-key-pins',
  'report-to',
  'reporting-endpoints',
  'server',
  'service-worker-allowed',
  'set-cookie',
  'set-cookie2',
  'strict-transport-security',
  'x-content-type-options',
  'x-powered-by',
  'x-request-id',
]);
const KEPT_FROM_CLIENT_PREFIXES = ['access-control-', 'ratelimit-', 'x-gatepost-'];
/** If a browser opens the answer as a page of this host, no script in it runs. */
const AS_A_PAGE = { 'content-security-policy': "default-src 'none'; sandbox", 'x-content-type-options': 'nosniff' };
/** Control characters would end the header; Node.js refuses them as well. */
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Whether the setting `forwardPaths` contains the request. Paths that servers read in different ways are never forwarded. */
export function isForwarded({ method, url }: { method: string; url: string }, patterns: readonly string[]): boolean {
  if (!FORWARDED_METHODS.has(method)) return false;
  const parts = partsOf(url);
  if (parts === undefined || parts.some((part, index) => part === 'classes' && OWN_CLASSES.has(parts[index + 1] ?? '')))
    return false;
  return patterns.some((pattern) => fits(parts, pattern.slice(1).split('/')));
}

const CLASSES = '/1.1/classes/';

/** Whether all objects of a joint save are of other classes that `forwardPaths` contains. Objects of two servers cannot be saved all or none. */
export function isForwardedSave(body: unknown, patterns: readonly string[]): boolean {
  const requests = isJsonObject(body) && Array.isArray(body['requests']) ? body['requests'] : [];
  const paths = requests.map((request) => (isJsonObject(request) ? request['path'] : undefined));
  const isOfAnother = (path: unknown) =>
    typeof path === 'string' && path.startsWith(CLASSES) && isForwarded({ method: 'POST', url: path }, patterns);
  return paths.length > 0 && paths.every(isOfAnother);
}

/** The decoded parts of the path; undefined where a part is empty, a dot segment, or contains a character that separates parts. */
function partsOf(url: string): string[] | undefined {
  const [pathname = ''] = url.split('?', 1);
  if (!pathname.startsWith('/1.1/')) return undefined;
  const parts = pathname.slice(1).split('/').map(decoded);
  return parts.every(isPlain) ? parts : undefined;
}

function decoded(part: string): string | undefined {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}

/** Some servers cut a part at `;`, and treat a backslash as a slash. */
function isPlain(part: string | undefined): part is string {
  return part !== undefined && part !== '' && part !== '.' && part !== '..' && !/[/\\;#\p{Cc}]/u.test(part);
}

function fits(parts: readonly string[], pattern: readonly string[]): boolean {
  const isLongEnough = pattern.at(-1) === '*' ? parts.length >= pattern.length : parts.length === pattern.length;
  return isLongEnough && pattern.every((expected, index) => expected === '*' || expected === parts[index]);
}

export function hasBeenForwarded({ via, [FORWARDED_HEADER]: mark }: IncomingHttpHeaders): boolean {
  return mark !== undefined || (via ?? '').split(',').some((hop) => /^\s*\S+\s+gatepost(?:\s|$)/i.test(hop));
}

interface Addition {
  readonly requestId: string;
  readonly clientAddress: string;
  /** Undefined where the application has no forwardSecret. */
  readonly identity: string | undefined;
  /** The answer is read here, so the target must not compress it. */
  readonly isReadHere: boolean;
}

export function headersForTarget(
  headers: IncomingHttpHeaders,
  { requestId, clientAddress, identity, isReadHere }: Addition,
): string[] {
  const dropped = namedIn(headers.connection);
  if (isReadHere) dropped.add('accept-encoding');
  const kept = Object.entries(headers).filter(([name]) => !isKeptFromTarget(name) && !dropped.has(name));
  const own: Record<string, string | undefined> = {
    'content-length': headers['transfer-encoding'] === undefined ? headers['content-length'] : undefined,
    via: headers.via === undefined ? `1.1 ${PSEUDONYM}` : `${headers.via}, 1.1 ${PSEUDONYM}`,
    'x-forwarded-for': clientAddress,
    'x-request-id': requestId,
    [FORWARDED_HEADER]: '1',
    [IDENTITY_HEADER]: identity,
  };
  return [...kept, ...Object.entries(own)].flatMap(([name, value]) =>
    value === undefined ? [] : [value].flat().flatMap((one) => [name, one]),
  );
}

/** Servers behind CGI and WSGI cannot distinguish `X_Gatepost_Identity` from `X-Gatepost-Identity`. */
function isKeptFromTarget(name: string): boolean {
  const dashed = name.replaceAll('_', '-');
  return KEPT_FROM_TARGET.has(dashed) || KEPT_FROM_TARGET_PREFIXES.some((prefix) => dashed.startsWith(prefix));
}

function namedIn(connection: string | undefined): Set<string> {
  return new Set((connection ?? '').split(',').map((name) => name.trim().toLowerCase()));
}

/** The headers of the answer for the client. @param raw names and values by turns, as the target sent them */
export function headersForClient(raw: readonly string[]): Record<string, string> {
  const pairs = pairsOf(raw);
  const dropped = namedIn(pairs.flatMap(([name, value]) => (name === 'connection' ? [value] : [])).join(','));
  const kept = new Map<string, string>();
  for (const [name, value] of pairs) {
    if (isKeptFromClient(name) || dropped.has(name) || !HEADER_VALUE.test(value)) continue;
    const earlier = kept.get(name);
    kept.set(name, earlier === undefined ? value : `${earlier}, ${value}`);
  }
  return { ...Object.fromEntries(kept), ...AS_A_PAGE };
}

function pairsOf(raw: readonly string[]): [string, string][] {
  return raw.flatMap((name, index) => (index % 2 === 0 ? [[name.toLowerCase(), raw[index + 1] ?? '']] : []));
}

function isKeptFromClient(name: string): boolean {
  return KEPT_FROM_CLIENT.has(name) || KEPT_FROM_CLIENT_PREFIXES.some((prefix) => name.startsWith(prefix));
}

export function hasBody(headers: IncomingHttpHeaders): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

/** The answer to a request within a batch or a method override, which becomes part of another answer. */
export async function sendBuffered(
  request: FastifyRequest,
  reply: FastifyReply,
  answer: StreamedAnswer,
): Promise<void> {
  const { 'content-length': _length, ...headers } = headersForClient(answer.headers);
  const bytes = await readBuffered(answer.body);
  const isInBatch = originsOf(request).some(({ routeOptions }) => routeOptions.url !== OVERRIDE_PATH);
  if (isInBatch && !fitsIntoBatch(answer.status, headers, bytes))
    throw appError('FORWARD_FAILED', {
      message: `The server that the request was forwarded to answered ${answer.status} without JSON.`,
    });
  const isEmptyJson = bytes.length === 0 && isJson(headers);
  void reply
    .code(answer.status)
    .headers(headers)
    .send(isEmptyJson ? '{}' : bytes);
}

async function readBuffered(body: Readable): Promise<Buffer> {
  const bytes = await readUpTo(MAX_MESSAGE_BYTES, body).catch((error: unknown) => {
    throw appError('FORWARD_FAILED', { cause: new Error(String((error as { code?: unknown }).code)) });
  });
  if (bytes !== undefined) return bytes;
  throw appError('OBJECT_TOO_LARGE', {
    message: 'The answer of the server that the request was forwarded to is too large.',
  });
}

async function readUpTo(maxBytes: number, body: Readable): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let left = maxBytes;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    left -= chunk.length;
    if (left < 0) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** The answer to a batch joins JSON texts without parsing them, so this one must be valid. A redirect cannot be part of it. */
function fitsIntoBatch(status: number, headers: Readonly<Record<string, string>>, bytes: Buffer): boolean {
  if (status >= 300) return status >= 400 && isJson(headers) && isJsonText(bytes);
  if (bytes.length === 0) return true;
  return isJson(headers) ? isJsonText(bytes) : headers['content-encoding'] === undefined;
}

function isJson(headers: Readonly<Record<string, string>>): boolean {
  return headers['content-type']?.startsWith('application/json') === true;
}

function isJsonText(bytes: Buffer): boolean {
  try {
    JSON.parse(bytes.toString());
    return true;
  } catch {
    return false;
  }
}
