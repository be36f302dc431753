import { z } from 'zod/mini';
import { type ConsoleRoute, type ExportRoute, pathOf, type RouteInput, type RouteReply } from '#console-api';

/** A call that failed. `name`: of the error table of Gatepost; UNREACHABLE: no answer arrived; EXPORT_CUT: a file ended early. */
export class CallError extends Error {
  override readonly name: string;
  readonly status: number;
  readonly requestId: string | undefined;
  /** Seconds after which the server may answer; undefined where it names none. */
  readonly retryAfter: number | undefined;

  constructor(problem: Answered, status: number, retryAfter?: number) {
    super(problem.error ?? '');
    this.name = problem.name ?? 'UNREACHABLE';
    this.status = status;
    this.requestId = problem.requestId;
    this.retryAfter = retryAfter;
  }

  /** Whether the same request may be answered soon: no connection, or a service that is away. */
  get isPassing(): boolean {
    return this.status === 0 || this.status === 503;
  }
}

/** A part of the input may be absent where all its members may. */
type Part<Name extends string, Value> = string extends keyof Value
  ? Optional<Name, Value>
  : Partial<Value> extends Value
    ? Optional<Name, Value>
    : Readonly<Record<Name, Value>>;
type Optional<Name extends string, Value> = Readonly<Partial<Record<Name, Value>>>;

export type CallInput<R extends ConsoleRoute> = Part<'params', RouteInput<R>['params']> &
  Part<'query', RouteInput<R>['query']> &
  Part<'body', RouteInput<R>['body']>;

/** The body of an error answer. Every member is optional, because a proxy can answer too. A function, so that pages do not build the schema at their start. */
const answered = () => z.partial(z.object({ error: z.string(), name: z.string(), requestId: z.string() }));
type Answered = z.output<ReturnType<typeof answered>>;

interface AnyInput {
  readonly params?: Readonly<Record<string, unknown>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
}

/** A step of the operator before a call can go on: to sign in again, or to prove the identity. */
export type Gate = 'signIn' | 'proof';

type Open = (gate: Gate) => Promise<boolean>;

let open: Open | undefined;
const waiting = new Map<Gate, Promise<boolean>>();
/** The operator has cancelled: until the next key or press, what the page reads by itself opens no dialog. */
let isDeclined = false;
for (const input of ['keydown', 'pointerdown'])
  window.addEventListener(input, () => (isDeclined = false), { capture: true, passive: true });

/** Names the dialog that asks the operator. @returns what takes it away */
export function setGateDialog(dialog: Open): () => void {
  open = dialog;
  return () => {
    open = undefined;
  };
}

/** Asks the operator; calls that fail meanwhile wait for the same answer. @returns false where the operator has cancelled */
async function passGate(gate: Gate): Promise<boolean> {
  if (open === undefined || isDeclined) return false;
  const answer = waiting.get(gate) ?? open(gate).finally(() => waiting.delete(gate));
  waiting.set(gate, answer);
  isDeclined = !(await answer);
  return answer;
}

const GATES: Readonly<Record<string, Gate | undefined>> = { SESSION_REQUIRED: 'signIn', PROOF_REQUIRED: 'proof' };
/** Routes whose own answers say that a password is wrong. */
const WITHOUT_GATE = new Set(['/sign-in', '/sign-in/passkey', '/proof', '/session', '/me/password', '/oidc/callback']);

/**
 * Calls a route of the console. Where the session is over or a proof of identity is needed, a dialog asks the operator, and the call
 * is repeated: what a form holds is not lost.
 *
 * @throws CallError
 */
export async function call<R extends ConsoleRoute>(
  route: R,
  input: CallInput<R>,
  signal?: AbortSignal,
): Promise<RouteReply<R>> {
  const response = await respond(route, input as AnyInput, signal);
  return (await response.json().catch(() => undefined)) as RouteReply<R>;
}

export interface ReadFile {
  readonly file: Blob;
  readonly name: string;
}

interface ReadOptions {
  readonly signal: AbortSignal;
  /** Called with the bytes so far, at most five times a second. */
  readonly onBytes: (bytes: number) => void;
}

/**
 * Reads the file of a route. Sign-in and proof of identity are asked for as in `call`, which a link could not do. A file that is cut is an
 * error, so that no part of one is saved as the whole.
 *
 * @throws CallError
 */
export async function readFile<R extends ExportRoute>(
  route: R,
  input: CallInput<R>,
  { signal, onBytes }: ReadOptions,
): Promise<ReadFile> {
  const { body, headers } = await respond(route, input as AnyInput, signal);
  const name = /filename="([^"]+)"/.exec(headers.get('Content-Disposition') ?? '')?.[1] ?? 'export';
  if (body === null) throw new CallError({}, 0);
  try {
    return { file: await blobOf(body, onBytes), name };
  } catch (error) {
    if (signal.aborted) throw error;
    throw new CallError({ name: 'EXPORT_CUT' }, 0);
  }
}

const PART_BYTES = 8_388_608;
const NOTICE_MS = 200;

/** The page holds one part; browsers keep blobs outside of it, large ones on disk. */
async function blobOf(body: ReadableStream<Uint8Array<ArrayBuffer>>, onBytes: (bytes: number) => void): Promise<Blob> {
  const parts: Blob[] = [];
  let chunks: Uint8Array<ArrayBuffer>[] = [];
  let [bytes, bytesInParts, noticedAt] = [0, 0, 0];
  const reader = body.getReader();
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    chunks.push(read.value);
    bytes += read.value.byteLength;
    if (bytes - bytesInParts >= PART_BYTES) {
      parts.push(new Blob(chunks));
      [chunks, bytesInParts] = [[], bytes];
    }
    if (performance.now() - noticedAt < NOTICE_MS) continue;
    noticedAt = performance.now();
    onBytes(bytes);
  }
  return new Blob([...parts, ...chunks]);
}

/** Why a request is repeated. `renewal`: it may have carried a token that another request, also one of another tab, has replaced. */
type Reason = Gate | 'renewal';

/** Asks again where the reason of a refusal is gone, once for each. @throws CallError for an answer that is an error */
async function respond(
  route: ConsoleRoute,
  input: AnyInput,
  signal: AbortSignal | undefined,
  reasons: readonly Reason[] = [],
): Promise<Response> {
  const ask = () => respondOnce(route, input, signal);
  try {
    return await (RENEWED.includes(route.path) ? renew(ask) : ask());
  } catch (error) {
    const gate = error instanceof CallError && !WITHOUT_GATE.has(route.path) ? gateOf(error) : undefined;
    if (gate === undefined || reasons.includes(gate)) throw error;
    const reason = await reasonToRepeat(route, gate, reasons);
    if (reason === undefined) throw error;
    return respond(route, input, signal, [...reasons, reason]);
  }
}

/** @returns undefined where the operator has cancelled, or signs out of a session that is over */
async function reasonToRepeat({ path }: ConsoleRoute, gate: Gate, reasons: readonly Reason[]) {
  if (gate === 'signIn' && !reasons.includes('renewal')) {
    await endOfRenewals();
    return 'renewal';
  }
  if (path === '/sign-out') return undefined;
  return (await passGate(gate)) ? gate : undefined;
}

function gateOf({ name, status }: CallError): Gate | undefined {
  return GATES[name] ?? (status === 401 ? 'signIn' : undefined);
}

/** Routes whose answer brings a new token of the session, which ends the old one. */
const RENEWED = ['/sign-in', '/sign-in/passkey', '/proof', '/proof/passkey', '/me/password', '/oidc/callback'];
/** A lock of all tabs, which share the token: renewals hold it together. */
const RENEWAL = 'gatepost-renewal';

function renew(request: () => Promise<Response>): Promise<Response> {
  return navigator.locks.request(RENEWAL, { mode: 'shared' }, request);
}

async function endOfRenewals(): Promise<void> {
  await navigator.locks.request(RENEWAL, () => undefined);
}

async function respondOnce(
  { method, path }: ConsoleRoute,
  { params = {}, query = {}, body = {} }: AnyInput,
  signal: AbortSignal | undefined,
): Promise<Response> {
  const response = await answerOf(`/api${pathOf(path, params)}${queryText(query)}`, {
    method,
    ...(method === 'GET'
      ? { headers: { ...OPERATOR, ...(Date.now() - lastInput < ATTENDED_MS ? {} : UNATTENDED) } }
      : { headers: { ...OPERATOR, ...HEADERS }, body: JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  });
  noteVersion(response);
  if (!response.ok) throw errorOf(await response.json().catch(() => undefined), response);
  return response;
}

/** Without a key, a touch or a pointer for so long, requests come from the page alone: they do not prolong the session. */
const ATTENDED_MS = 60_000;
const UNATTENDED = { 'X-Gatepost-Unattended': '1' };
let lastInput = Date.now();
for (const input of ['keydown', 'pointerdown', 'pointermove', 'wheel'])
  window.addEventListener(input, () => (lastInput = Date.now()), { capture: true, passive: true });

const HEADERS = { 'Content-Type': 'application/json', 'X-Gatepost-Console': '1' };
/** Names the operator that the page shows. The server refuses its requests once another operator has signed in in another tab. */
export const OPERATOR: Record<string, string> = {};

let shownVersion: string | undefined;
let hasNewVersion = false;
const upgradeListeners = new Set<() => void>();

/** @returns whether the server has been upgraded since the page was loaded */
export function isOutdated(): boolean {
  return hasNewVersion;
}

/** @returns a function that removes the listener */
export function onUpgrade(listener: () => void): () => void {
  upgradeListeners.add(listener);
  return () => upgradeListeners.delete(listener);
}

function noteVersion({ headers }: Response): void {
  const version = headers.get('X-Gatepost-Version') ?? undefined;
  shownVersion ??= version;
  if (hasNewVersion || version === undefined || version === shownVersion) return;
  hasNewVersion = true;
  for (const listener of upgradeListeners) listener();
}

async function answerOf(url: string, options: RequestInit): Promise<Response> {
  try {
    return await fetch(url, options);
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw new CallError({}, 0);
  }
}

function queryText(query: Readonly<Record<string, unknown>>): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== '');
  return given.length === 0
    ? ''
    : `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString()}`;
}

function errorOf(answer: unknown, response: Response): CallError {
  const parsed = answered().safeParse(answer);
  const retryAfter = Number(response.headers.get('Retry-After') ?? Number.NaN);
  return new CallError(
    parsed.success ? parsed.data : {},
    response.status,
    Number.isFinite(retryAfter) ? retryAfter : undefined,
  );
}
