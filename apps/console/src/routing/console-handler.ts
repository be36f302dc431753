import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { z } from 'zod';
import { TtlCache } from '#bootstrap';
import {
  type Access,
  ALL_APPLICATIONS,
  CHANGED_SINCE,
  type consoleApi,
  type ConsoleRoute,
  type ExportRoute,
  type Grant,
  type Permission,
  permissionsFor,
  type RouteBody,
  type RouteParams,
  type RouteQuery,
  type RouteReply,
  type Undo,
} from '#console-api';
import type { Caller } from '#contracts';
import { type AppError, appError, isAppError } from '#errors';

export interface SignedIn {
  readonly sessionId: string;
  readonly id: string;
  readonly name: string;
  readonly address: string;
  readonly isOwner: boolean;
  readonly grants: readonly Grant[];
  readonly language: string | null;
  readonly timeZone: string | null;
  readonly theme: string;
  readonly endsAt: Date;
  /** Expiry of the last proof of identity; undefined without a valid one. */
  readonly provenUntil: Date | undefined;
  readonly hasPassword: boolean;
  readonly isConnected: boolean;
  readonly hasSecondFactor: boolean;
  readonly needsSecondFactor: boolean;
}

export interface ActRecord {
  /** The changed object, such as its id. Default: the path's parameters. */
  readonly target?: string;
  /** The operator that the act signs in. */
  readonly operator?: Readonly<{ id: string; name: string }>;
  readonly before?: Readonly<Record<string, unknown>>;
  readonly undo?: Undo | null;
}

type Cookies = readonly (readonly [name: string, value: string])[];

export interface RequestParts<R extends ConsoleRoute> {
  readonly id: string;
  readonly network: string;
  readonly browser: string;
  readonly cookies: Cookies;
  readonly params: RouteParams<R>;
  readonly query: RouteQuery<R>;
  readonly body: RouteBody<R>;
  readonly signedIn: SignedIn | undefined;
}

export function cookiesOf(header = ''): Cookies {
  return header.split(';').map((pair) => {
    const [name = '', value = ''] = pair.trim().split(/=(.*)/s, 2);
    return [name, value];
  });
}

export function cookieOf(header: string | undefined, name: string): string | undefined {
  return cookiesOf(header).find(([key]) => key === name)?.[1];
}

const MAX_BROWSER_LENGTH = 200;

export function browserOf(userAgent: string | undefined): string {
  return (userAgent ?? '').replaceAll(/[^\x20-\x7e]/g, '').slice(0, MAX_BROWSER_LENGTH);
}

/** Session, permission and shape are checked. */
export class ConsoleRequest<R extends ConsoleRoute = ConsoleRoute> {
  readonly id: string;
  readonly network: string;
  readonly browser: string;
  readonly cookies: Cookies;
  readonly params: RouteParams<R>;
  readonly query: RouteQuery<R>;
  readonly body: RouteBody<R>;
  /** Undefined without a session. An export gets it anew before each page. */
  signedIn: SignedIn | undefined;
  /** The token that the answer sets as cookie; null removes the cookie. */
  newToken: string | null | undefined;
  /** Further cookies, which an error sets as well. */
  readonly setCookies: string[] = [];
  act: ActRecord = {};

  constructor({ id, network, browser, cookies, params, query, body, signedIn }: RequestParts<R>) {
    this.id = id;
    this.network = network;
    this.browser = browser;
    this.cookies = cookies;
    this.params = params;
    this.query = query;
    this.body = body;
    this.signedIn = signedIn;
  }

  get operator(): SignedIn {
    if (this.signedIn === undefined) throw appError('UNAUTHORIZED');
    return this.signedIn;
  }

  /** RPCs of the API get the rights of the master key for the application of the path. */
  get caller(): Caller {
    return { requestId: this.id, appId: this.#appId, isMaster: true };
  }

  may(permission: Permission): boolean {
    return permissionsFor(this.operator, this.#appId).includes(permission);
  }

  require(permission: Permission): void {
    if (!this.may(permission)) throw forbidden(permission);
  }

  /** @throws AppError PROOF_REQUIRED without a proof of identity within the last ten minutes */
  requireProof(message?: string): void {
    if (this.operator.provenUntil === undefined)
      throw appError('PROOF_REQUIRED', message === undefined ? {} : { message });
  }

  get #appId(): string {
    return appIdOf(this.params) ?? ALL_APPLICATIONS;
  }
}

type Api = typeof consoleApi;

export type RequestOf<Name extends keyof Api> = ConsoleRequest<Api[Name]>;
export type ReplyOf<Name extends keyof Api> = RouteReply<Api[Name]>;

export function appIdOf(params: unknown): string | undefined {
  const { appId } = params as { appId?: string };
  return appId;
}

function forbidden(permission: Permission): AppError {
  return appError('FORBIDDEN', { message: `This needs the permission ${permission}.` });
}

/** NOT_FOUND: the operator has no grant for the application. @throws AppError UNAUTHORIZED without a session */
export function refusalBy(route: ConsoleRoute, signedIn: SignedIn | undefined, params: unknown): AppError | undefined {
  if (route.access === 'anyone') return undefined;
  if (signedIn === undefined) throw appError('UNAUTHORIZED', { message: 'Sign in first.' });
  const appId = appIdOf(params);
  const permissions = permissionsFor(signedIn, appId ?? ALL_APPLICATIONS);
  if (appId !== undefined && permissions.length === 0)
    return appError('NOT_FOUND', { message: 'There is no such application.' });
  return missingRight(route, signedIn, permissions);
}

function missingRight(
  { access, needsProof }: ConsoleRoute,
  { needsSecondFactor, provenUntil: proven }: SignedIn,
  permissions: readonly Permission[],
): AppError | undefined {
  if (access !== 'self' && needsSecondFactor) return appError('SECOND_FACTOR_MISSING');
  if (isPermission(access) && !permissions.includes(access)) return forbidden(access);
  return needsProof && proven === undefined ? appError('PROOF_REQUIRED') : undefined;
}

function isPermission(access: Access): access is Permission {
  return access !== 'anyone' && access !== 'operator' && access !== 'self';
}

/** The reply, or for a file its rows in pages, read as fast as the client receives them. */
type HandlerResult<R extends ConsoleRoute> = R extends ExportRoute
  ? AsyncIterable<readonly RouteReply<R>[]>
  : Promise<RouteReply<R>> | RouteReply<R>;

type HandlerMethod<R extends ConsoleRoute> = (request: ConsoleRequest<R>) => HandlerResult<R>;

const HANDLED_ROUTE = Symbol('HandledRoute');

/** The compiler checks the method against the route's shapes. */
export function Handles<R extends ConsoleRoute>(route: R) {
  return <Method extends HandlerMethod<R>>(
    target: object,
    key: string,
    _descriptor: TypedPropertyDescriptor<Method>,
  ): void => {
    Reflect.defineMetadata(HANDLED_ROUTE, route, target, key);
  };
}

export function handlersOf(instance: object): [ConsoleRoute, HandlerMethod<ConsoleRoute>][] {
  const prototype = Object.getPrototypeOf(instance) as Record<string, unknown>;
  return Object.getOwnPropertyNames(prototype).flatMap((key) => {
    const route = Reflect.getMetadata(HANDLED_ROUTE, prototype, key) as ConsoleRoute | undefined;
    const method = prototype[key];
    return route === undefined || typeof method !== 'function'
      ? []
      : [[route, method.bind(instance) as HandlerMethod<ConsoleRoute>]];
  });
}

/** Of one route. More replies are seldom read within a second. */
const MAX_ANSWERS = 200;

type Handler = (request: ConsoleRequest) => unknown;
type CacheKey = Pick<RequestParts<ConsoleRoute>, 'params' | 'query'>;

/** Shares a reply between all requests within a second, so that many open pages cost the services as much as one. */
@Injectable()
export class RequestCache {
  readonly #caches: TtlCache<object>[] = [];

  /** The handler gets path and query only: its reply cannot depend on the operator, whose rights are checked before. */
  wrap(handle: Handler): Handler {
    const cache = new TtlCache(async (key) => (await handle(anonymousRequest(JSON.parse(key) as CacheKey))) as object, {
      maxEntries: MAX_ANSWERS,
    });
    this.#caches.push(cache);
    return ({ params, query }) => cache.get(JSON.stringify({ params, query } satisfies CacheKey));
  }

  /** After an act: the next request of each route reads again. */
  clear(): void {
    for (const cache of this.#caches) cache.clear();
  }
}

function anonymousRequest({ params, query }: CacheKey): ConsoleRequest {
  const noClient = { network: '', browser: '', cookies: [], signedIn: undefined };
  return new ConsoleRequest({ id: randomUUID(), ...noClient, params, query, body: {} });
}

/** NUL or an unpaired surrogate in JSON text: PostgreSQL stores neither. */
const UNSTORABLE = /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f])/;

/** @throws AppError INCORRECT_TYPE that names the member */
export function parseRequestPart<S extends z.ZodType>(schema: S, value: unknown, part: string): z.output<S> {
  if (UNSTORABLE.test(JSON.stringify(value)))
    throw appError('INCORRECT_TYPE', { message: `${part}: contains NUL or an unpaired surrogate. Remove it.` });
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  throw appError('INCORRECT_TYPE', {
    message: `${issue === undefined || issue.path.length === 0 ? part : issue.path.join('.')}: ${issue?.message ?? 'is malformed'}`,
  });
}

/** For writes on condition that the object is unchanged. @throws AppError NO_EFFECT with the text of this conflict */
export async function ifUnchanged<Reply>(write: Promise<Reply>): Promise<Reply> {
  try {
    return await write;
  } catch (error) {
    if (isAppError(error, 'NO_EFFECT')) throw changedSince();
    throw error;
  }
}

export function changedSince(): AppError {
  return appError('NO_EFFECT', { message: CHANGED_SINCE });
}

/** Notes how an act is undone. @param body undefined: it has changed nothing, or the former values are not known for sure */
export function undoOf<Action extends Undo['action']>(
  request: ConsoleRequest,
  action: Action,
  body: RouteBody<Api[Action]> | undefined,
): Undo | null {
  const { params, act } = request;
  const undo = body === undefined ? null : { action, params: params as Undo['params'], body };
  request.act = { ...act, undo };
  return undo;
}
