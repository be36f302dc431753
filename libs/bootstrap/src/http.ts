import type { Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { HttpException, HttpStatus } from '@nestjs/common';
import type { JsonObject, JsonValue } from '#contracts';
import { appError, AppError } from '#errors';

export const JSON_TYPE = ['content-type', 'application/json; charset=utf-8'] as const;
/** Checked before any recursive function processes the document. */
const MAX_NESTING = 64;
const utf8 = new TextDecoder('utf-8', { fatal: true });

/** An empty body and `null` mean an empty object, because SDKs send both. @throws AppError MALFORMED_JSON, INVALID_KEY_NAME */
export function parseJsonBody(bytes: Buffer): JsonValue {
  const text = decode(bytes);
  return text.trim() === '' ? {} : (parseJson(text) ?? {});
}

/** Parses JSON of a client and rejects documents that are unsafe to process. @throws AppError MALFORMED_JSON, INVALID_KEY_NAME */
export function parseJson(text: string): JsonValue {
  const value = parse(text);
  assertHarmless(value);
  return value;
}

/** An empty object where there is no body. @throws AppError MALFORMED_JSON where it is no JSON object */
export function asJsonObject(body: unknown): JsonObject {
  const value = body ?? {};
  if (typeof value !== 'object' || Array.isArray(value)) throw appError('MALFORMED_JSON');
  return value as JsonObject;
}

/** Invalid UTF-8 is an error: it would be replaced with other characters. */
function decode(bytes: Buffer): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw appError('MALFORMED_JSON', { message: 'The body must be UTF-8 without compression.' });
  }
}

function parse(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    throw appError('MALFORMED_JSON');
  }
}

type Members = readonly JsonValue[];
const NO_MEMBERS: Members = [];

/** Walks the document level by level, because recursion could exhaust the stack. */
function assertHarmless(root: JsonValue): void {
  let level: Members[] = [[root]];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > MAX_NESTING)
      throw appError('MALFORMED_JSON', { message: `Values may be nested ${MAX_NESTING} levels deep at most.` });
    const below: Members[] = [];
    for (const members of level) collectMembers(members, below);
    level = below;
  }
}

/** Without a new list for each value: the body of a method override is checked before its credentials. */
function collectMembers(values: Members, collected: Members[]): void {
  for (const value of values) {
    const members = membersOf(value);
    if (members.length > 0) collected.push(members);
  }
}

function membersOf(value: JsonValue): Members {
  // 1e400 is valid JSON, but cannot be stored or sent as a number.
  if (typeof value === 'number' && !Number.isFinite(value))
    throw appError('INCORRECT_TYPE', { message: 'Numbers must be finite.' });
  if (typeof value !== 'object' || value === null) return NO_MEMBERS;
  if (Array.isArray(value)) return value;
  if (Object.hasOwn(value, '__proto__')) throw appError('INVALID_KEY_NAME');
  return Object.values(value);
}

/** Converts what an HTTP server of Nest or Fastify has thrown. A 4xx status stays a 4xx status; its text stays in the process. */
export function fromHttp(thrown: unknown): AppError {
  if (thrown instanceof AppError) return thrown;
  const { statusCode } = (typeof thrown === 'object' && thrown !== null ? thrown : {}) as { statusCode?: unknown };
  const status = thrown instanceof HttpException ? thrown.getStatus() : statusCode;
  if (status === HttpStatus.PAYLOAD_TOO_LARGE) return appError('PAYLOAD_TOO_LARGE');
  if (status === HttpStatus.NOT_FOUND) return appError('NOT_FOUND');
  if (typeof status === 'number' && status >= 400 && status < 500)
    return appError('MALFORMED_JSON', { message: 'The request is malformed.' });
  return appError('INTERNAL', { cause: thrown });
}

const LINGER_MS = 1_000;
/** Destroys the connection of a refused client, whether it has read the refusal or keeps its side open. */
export const destroySoon = (connection: Duplex): NodeJS.Timeout =>
  setTimeout(() => connection.destroy(), LINGER_MS).unref();
const IDLE_CONNECTION_POLL_MS = 50;
/** The same time that a service waits for work in progress. */
const DRAIN_LIMIT_MS = 15_000;

/** Reverse proxies thus release kept-alive connections while the server accepts new ones: a request at the moment of a close would be lost. */
export function endKeptConnections(server: Server): void {
  server.prependListener('request', (_request, response) => {
    response.setHeader('Connection', 'close');
  });
}

/** Refuses new connections. A later close, as that of Fastify, waits for the end of the open ones, as it would on its own. */
function stopListening(server: Server): void {
  const ended = new Promise((resolve) => server.close(resolve));
  server.close = (callback) => {
    void ended.then(() => callback?.());
    return server;
  };
}

/** Refuses new connections at once, and closes each open one once it is idle, all at the limit. @param close closes the rest of the process */
export async function drainConnections(
  server: Server,
  close: () => Promise<unknown>,
  limitMs = DRAIN_LIMIT_MS,
): Promise<void> {
  stopListening(server);
  const idle = setInterval(() => {
    server.closeIdleConnections();
  }, IDLE_CONNECTION_POLL_MS);
  const limit = setTimeout(() => {
    server.closeAllConnections();
  }, limitMs);
  try {
    await close();
  } finally {
    clearInterval(idle);
    clearTimeout(limit);
  }
}
