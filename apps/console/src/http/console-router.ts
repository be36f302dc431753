import { Logger, type Type } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Clock, fromHttp } from '#bootstrap';
import { consoleApi, type ConsoleRoute, type ExportRoute, isExport } from '#console-api';
import { isConcealedSetting } from '#contracts';
import { type AppError, toAppError } from '#errors';
import { Metrics, reportError } from '#observability';
import { AuditRepository, type BegunAct, type EndedAct } from '../audit/audit.repository.js';
import { changeOf, outcomeOf } from '../audit/audit.rules.js';
import { PublicUrl } from '../console.config.js';
import { provenUntil } from '../operators/operator.rules.js';
import { OperatorsRepository } from '../operators/operators.repository.js';
import { type SessionRow, SignInRepository } from '../operators/sign-in.repository.js';
import { SignInService } from '../operators/sign-in.service.js';
import {
  browserOf,
  ConsoleRequest,
  cookieOf,
  cookiesOf,
  handlersOf,
  parseRequestPart,
  refusalBy,
  RequestCache,
  type RequestParts,
  type SignedIn,
} from '../routing/console-handler.js';
import { ExportFile } from './export-file.js';

const logger = new Logger('Console');

/** DI token of the classes whose methods handle the routes, `readonly Type[]`. */
export const CONSOLE_HANDLERS = Symbol('ConsoleHandlers');

type Handler = (request: ConsoleRequest) => unknown;

/** Adds the routes of `consoleApi`. @throws Error for a route without a handler, or with two */
export function addConsoleRoutes(app: NestFastifyApplication): void {
  const router = new ConsoleRouter(app);
  const cache = app.get(RequestCache);
  const clock = app.get(Clock);
  const fastify = app.getHttpAdapter().getInstance();
  const handlers = collectHandlers(app);
  for (const [name, route] of Object.entries<ConsoleRoute>(consoleApi)) {
    const handle = handlers.get(route);
    if (handle === undefined) throw new Error(`The route ${name} of the console has no handler.`);
    const plain = route.isShared ? cache.wrap(handle) : handle;
    const bound = { name, route, handle: isExport(route) ? exporting(route, handle, clock) : plain };
    fastify.route({
      method: route.method,
      url: `/api${route.path}`,
      // HEAD would read a whole list to send nothing of it.
      exposeHeadRoute: !isExport(route),
      handler: async (request, reply) => {
        await router.respond(bound, request, reply);
        return reply;
      },
      errorHandler: (error, request, reply) => {
        sendConsoleError(request, reply, error);
      },
    });
  }
}

function collectHandlers(app: NestFastifyApplication): ReadonlyMap<ConsoleRoute, Handler> {
  const all = app.get<readonly Type<object>[]>(CONSOLE_HANDLERS).flatMap((type) => handlersOf(app.get(type)));
  const handlers = new Map<ConsoleRoute, Handler>(all);
  const twice = all.find(([route, handle]) => handlers.get(route) !== handle);
  if (twice === undefined) return handlers;
  throw new Error(`The route ${twice[0].method} ${twice[0].path} of the console has two handlers.`);
}

/** `Handles` has checked that the handler of such a route gives rows. */
function exporting(route: ExportRoute, handle: Handler, clock: Clock): Handler {
  return (request) =>
    ExportFile.open(route, request, handle(request) as AsyncIterable<Record<string, unknown>[]>, clock.now());
}

interface BoundRoute {
  readonly name: string;
  readonly route: ConsoleRoute;
  readonly handle: Handler;
}

/** Leads a request through session, permission, shape and audit log to its handler. */
class ConsoleRouter {
  readonly #sessions: SignInRepository;
  readonly #audit: AuditRepository;
  readonly #url: PublicUrl;
  readonly #metrics: Metrics;
  readonly #operators: OperatorsRepository;
  readonly #signIn: SignInService;
  readonly #cache: RequestCache;
  readonly #clock: Clock;

  constructor(app: NestFastifyApplication) {
    this.#sessions = app.get(SignInRepository);
    this.#audit = app.get(AuditRepository);
    this.#url = app.get(PublicUrl);
    this.#metrics = app.get(Metrics);
    this.#operators = app.get(OperatorsRepository);
    this.#signIn = app.get(SignInService);
    this.#cache = app.get(RequestCache);
    this.#clock = app.get(Clock);
  }

  async respond(bound: BoundRoute, request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { route } = bound;
    try {
      const result = await this.#answer(bound, request, reply);
      if (!isExport(route)) void reply.send(route.reply.parse(result));
    } catch (error) {
      sendConsoleError(request, reply, error);
    } finally {
      this.#metrics.httpRequests.observe(
        { method: route.method, route: `/api${route.path}`, status: String(reply.statusCode) },
        reply.elapsedTime / 1_000,
      );
    }
  }

  async #answer(bound: BoundRoute, request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    const { route, handle } = bound;
    const signedIn = await this.#signedIn(request);
    const params = parseRequestPart(route.params, request.params, 'path');
    const refusal = refusalBy(route, signedIn, params);
    if (refusal !== undefined && route.isRead) throw refusal;
    const consoleRequest = new ConsoleRequest({
      id: request.id,
      network: request.clientAddress,
      browser: browserOf(request.headers['user-agent']),
      cookies: cookiesOf(request.headers.cookie),
      params,
      ...(refusal === undefined ? inputOf(route, request) : refusedInput(route, request, refusal)),
      signedIn,
    });
    try {
      return await (route.isRead ? handle(consoleRequest) : this.#act(bound, consoleRequest, refusal, reply));
    } finally {
      if (consoleRequest.newToken !== undefined) consoleRequest.setCookies.push(this.#cookie(consoleRequest.newToken));
      if (consoleRequest.setCookies.length > 0) void reply.header('set-cookie', consoleRequest.setCookies);
    }
  }

  async #act(
    { name, route, handle }: BoundRoute,
    request: ConsoleRequest,
    refusal: AppError | undefined,
    reply: FastifyReply,
  ): Promise<unknown> {
    if (await this.#hasUnknownCredential(route, request)) return handle(request);
    const act = describeAct(name, route, request, await this.#nameOf(request));
    if (refusal !== undefined) {
      await this.#audit.refused(act, refusal.errorName);
      throw refusal;
    }
    return this.#recorded(act, route, request, async () => {
      const result = await handle(request);
      if (!(result instanceof ExportFile)) return { result, ended: { outcome: 'done' } };
      return { result, ended: await result.sendTo(reply, () => this.#renew(route, request)) };
    });
  }

  /** The entry is committed before the act begins. Without it the act is not done. */
  async #recorded(
    begun: BegunAct,
    route: ConsoleRoute,
    request: ConsoleRequest,
    act: () => Promise<{ readonly result: unknown; readonly ended: EndedAct }>,
  ): Promise<unknown> {
    const id = await this.#audit.begin(begun);
    try {
      const { result, ended } = await act();
      await this.#endEntry(id, request, ended);
      return result;
    } catch (thrown) {
      const error = toAppError(thrown);
      await this.#endEntry(id, request, { outcome: outcomeOf(error, isExport(route)), errorName: error.errorName });
      throw error;
    } finally {
      this.#cache.clear();
    }
  }

  /** Does not throw: the act is done, and a lost outcome is shown as unknown. */
  async #endEntry(id: string, { id: requestId, act }: ConsoleRequest, ended: EndedAct): Promise<void> {
    await this.#audit.end(id, { ...act, ...ended }).catch((error: unknown) => {
      reportError(logger, toAppError(error), { requestId });
    });
  }

  /** Such an act can do nothing. Beyond the limit of all networks it gets no entry. */
  async #hasUnknownCredential({ path }: ConsoleRoute, { signedIn, network, body }: ConsoleRequest): Promise<boolean> {
    if (signedIn !== undefined || (await this.#signIn.countAnonymousAct(network, path))) return false;
    return !(await this.#signIn.isKnown(body));
  }

  /** The name of the acting operator. The log gets no unknown address of a sign-in, because it can be a password. */
  async #nameOf({ signedIn, body }: ConsoleRequest): Promise<string | undefined> {
    const { address } = body as { address?: unknown };
    return signedIn?.name ?? (typeof address === 'string' ? this.#operators.nameAt(address) : undefined);
  }

  /** The tabs of a browser share the cookie: another operator than the one shown by the page may have signed in. */
  async #signedIn({ headers }: FastifyRequest): Promise<SignedIn | undefined> {
    const token = cookieOf(headers.cookie, this.#cookieName);
    // The page asks again by itself: an operator who has left the screen does not use the session.
    const isUsed = headers['x-gatepost-unattended'] === undefined;
    const operatorId = headers['x-gatepost-operator']?.toString();
    return token === undefined
      ? undefined
      : this.#signedInOf(await this.#sessions.findSession(token, { isUsed, operatorId }));
  }

  /** Reads the rights of a long act anew. The proof counts from the beginning. */
  async #renew(route: ConsoleRoute, request: ConsoleRequest): Promise<void> {
    request.signedIn = this.#signedInOf(await this.#sessions.findSession(request.operator.sessionId, { by: 'id' }));
    const refusal = refusalBy({ ...route, needsProof: false }, request.signedIn, request.params);
    if (refusal !== undefined) throw refusal;
  }

  #signedInOf(row: SessionRow | undefined): SignedIn | undefined {
    return row && { ...row, provenUntil: provenUntil(row.provenAt, this.#clock.now()) };
  }

  /** The prefix makes browsers refuse a cookie that another host or path has set. */
  get #cookieName(): string {
    return this.#url.isEncrypted ? '__Host-gatepost-console' : 'gatepost-console';
  }

  #cookie(token: string | null): string {
    const flags = `Path=/; HttpOnly; SameSite=Strict${this.#url.isEncrypted ? '; Secure' : ''}`;
    return token === null ? `${this.#cookieName}=; ${flags}; Max-Age=0` : `${this.#cookieName}=${token}; ${flags}`;
  }
}

type Input = Pick<RequestParts<ConsoleRoute>, 'body' | 'query'>;

function inputOf({ method, query, body }: ConsoleRoute, request: FastifyRequest): Input {
  return {
    query: parseRequestPart(query, request.query, 'query'),
    body: parseRequestPart(body, method === 'GET' ? {} : (request.body ?? {}), 'body'),
  };
}

/** For the audit entry: nothing where the input is malformed, nor of an application without a grant. */
function refusedInput(route: ConsoleRoute, request: FastifyRequest, refusal: AppError): Input {
  const nothing = { query: {}, body: {} };
  if (refusal.is('NOT_FOUND')) return nothing;
  try {
    return inputOf(route, request);
  } catch {
    return nothing;
  }
}

/** Routes whose body has credentials in this member. */
const CREDENTIALS: ReadonlySet<string> = new Set(['setPlatform', 'setTextMessageProvider', 'setVendor']);

function describeAct(
  name: string,
  { path, file }: ConsoleRoute,
  { id, network, params, query, body, signedIn }: ConsoleRequest,
  operatorName: string | undefined,
): BegunAct {
  const given = params as Readonly<Record<string, string>>;
  const { appId, ...rest } = given;
  const setsSecret = path.includes('/settings/') && isConcealedSetting(given['name'] ?? '');
  const isSecret = (member: string) =>
    (member === 'fields' && CREDENTIALS.has(name)) ||
    (['value', 'former'].includes(member) && setsSecret) ||
    (member === 'address' && operatorName === undefined);
  return {
    way: 'console',
    action: name,
    requestId: id,
    network,
    operatorId: signedIn?.id ?? null,
    operatorName: operatorName ?? '',
    appId: appId ?? null,
    target: Object.keys(rest).length === 0 ? null : Object.values(rest).join(' '),
    change: changeOf((file === null ? body : query) as Readonly<Record<string, unknown>>, isSecret),
  };
}

/** Writes an error response; internal details go to the log only. */
export function sendConsoleError(request: FastifyRequest, reply: FastifyReply, thrown: unknown): void {
  const error = fromHttp(thrown);
  reportError(logger, error, { requestId: request.id });
  if (error.retryAfterSeconds !== undefined) void reply.header('retry-after', String(error.retryAfterSeconds));
  const { code, errorName: name, message } = error;
  void reply.code(error.status).send({ code, error: message, name, requestId: request.id });
}
