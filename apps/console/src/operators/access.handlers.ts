import { Inject, Injectable } from '@nestjs/common';
import { Clock, packageVersion } from '#bootstrap';
import { consoleApi, LANGUAGES, THEMES } from '#console-api';
import { appError } from '#errors';
import { CONSOLE_CONFIG, type ConsoleConfig } from '../console.config.js';
import {
  type ConsoleRequest,
  Handles,
  type ReplyOf,
  type RequestOf,
  type SignedIn,
} from '../routing/console-handler.js';
import { OidcService } from './oidc.service.js';
import { provenUntil } from './operator.rules.js';
import { OperatorsRepository } from './operators.repository.js';
import { SecondFactors } from './second-factors.js';
import { type Browser, SignInRepository } from './sign-in.repository.js';
import { SignInService } from './sign-in.service.js';

type Session = ReplyOf<'getSession'>;

@Injectable()
export class AccessHandlers {
  constructor(
    private readonly signIn: SignInService,
    private readonly sessions: SignInRepository,
    private readonly operators: OperatorsRepository,
    private readonly factors: SecondFactors,
    private readonly oidc: OidcService,
    private readonly clock: Clock,
    @Inject(CONSOLE_CONFIG) private readonly config: ConsoleConfig,
  ) {}

  @Handles(consoleApi.getSession)
  async getSession({ signedIn }: RequestOf<'getSession'>): Promise<Session> {
    if (signedIn !== undefined) return this.#sessionOf(signedIn);
    return { ...this.#noSession(), isSetUp: await this.operators.hasOwner() };
  }

  @Handles(consoleApi.signIn)
  async handleSignIn(request: RequestOf<'signIn'>): Promise<Session> {
    this.signIn.assertPasswords();
    const { address, ...given } = request.body;
    return this.#beginByPassword(request, await this.signIn.checkSignIn(address, given, request.network));
  }

  @Handles(consoleApi.passkeySignIn)
  async passkeySignIn(request: RequestOf<'passkeySignIn'>): Promise<Session> {
    this.signIn.assertPasswords();
    return this.#beginByPassword(request, await this.factors.usePasskey(null, request.body.response));
  }

  @Handles(consoleApi.setUp)
  async setUp(request: RequestOf<'setUp'>): Promise<Session> {
    this.signIn.assertPasswords();
    const { token, name, address, password } = request.body;
    await this.signIn.assertLink(token);
    const passwordHash = await this.signIn.hash(password);
    const id = await this.sessions.createFirstOwner(token, { name, address, passwordHash });
    return this.#beginByPassword(request, { id, passwordHash });
  }

  @Handles(consoleApi.inspectLink)
  async inspectLink({ body }: RequestOf<'inspectLink'>): Promise<ReplyOf<'inspectLink'>> {
    const link = await this.sessions.findLink(body.token);
    if (link === undefined) throw appError('LINK_EXPIRED');
    return { ...link, endsAt: link.endsAt.toISOString() };
  }

  @Handles(consoleApi.useLink)
  async useLink(request: RequestOf<'useLink'>): Promise<Session> {
    this.signIn.assertPasswords();
    const { token, password, name } = request.body;
    await this.signIn.assertLink(token);
    const passwordHash = await this.signIn.hash(password);
    const id = await this.sessions.useLink(token, passwordHash, name);
    return this.#beginByPassword(request, { id, passwordHash });
  }

  @Handles(consoleApi.startOidc)
  async startOidc(request: RequestOf<'startOidc'>): Promise<ReplyOf<'startOidc'>> {
    await this.signIn.countAnonymousAct(request.network, consoleApi.startOidc.path);
    return this.oidc.begin(request, 'signIn', request.body.to);
  }

  @Handles(consoleApi.startOidcProof)
  startOidcProof(request: RequestOf<'startOidcProof'>): Promise<ReplyOf<'startOidcProof'>> {
    return this.oidc.begin(request, 'proof');
  }

  @Handles(consoleApi.connectOidc)
  connectOidc(request: RequestOf<'connectOidc'>): Promise<ReplyOf<'connectOidc'>> {
    return this.oidc.begin(request, 'connection');
  }

  @Handles(consoleApi.finishOidc)
  async finishOidc(request: RequestOf<'finishOidc'>): Promise<ReplyOf<'finishOidc'>> {
    const { purpose, to, account } = await this.oidc.finish(request, request.body.response);
    if (purpose === 'signIn') {
      const known = await this.oidc.signIn(account, request);
      // A session at the issuer proves nothing about the person at the screen: the time of its sign-in counts.
      return { purpose, to, session: await this.#begin(request, known, account.authenticatedAt ?? null) };
    }
    const { operator } = request;
    if (purpose === 'proof')
      return {
        purpose,
        to,
        session: await this.#continue(request, await this.sessions.proveSession(operator.sessionId)),
      };
    await this.oidc.connect(operator, account, request);
    return { purpose, to, session: this.#sessionOf({ ...operator, isConnected: true }) };
  }

  @Handles(consoleApi.disconnectOidc)
  async disconnectOidc({ operator }: RequestOf<'disconnectOidc'>): Promise<ReplyOf<'disconnectOidc'>> {
    await this.oidc.disconnect(operator);
    return {};
  }

  @Handles(consoleApi.signOut)
  async signOut(request: RequestOf<'signOut'>): Promise<Session> {
    const { id, sessionId } = request.operator;
    await this.sessions.endSession(id, sessionId);
    request.newToken = null;
    return this.#noSession();
  }

  @Handles(consoleApi.prove)
  async prove(request: RequestOf<'prove'>): Promise<Session> {
    this.signIn.assertPasswords();
    await this.signIn.checkOwn(request.operator, request.body);
    return this.#continue(request, await this.sessions.proveSession(request.operator.sessionId));
  }

  @Handles(consoleApi.passkeyProof)
  async passkeyProof(request: RequestOf<'passkeyProof'>): Promise<Session> {
    this.signIn.assertPasswords();
    await this.factors.usePasskey(request.operator.id, request.body.response);
    return this.#continue(request, await this.sessions.proveSession(request.operator.sessionId));
  }

  @Handles(consoleApi.changeMe)
  async changeMe(request: RequestOf<'changeMe'>): Promise<Session> {
    const { id, name, language, timeZone, theme } = request.operator;
    request.act = { target: id, before: { name, language, timeZone, theme } };
    await this.operators.setPreferences(id, request.body);
    return this.#sessionOf({ ...request.operator, ...definedOf(request.body) });
  }

  @Handles(consoleApi.changeMyPassword)
  async changeMyPassword(request: RequestOf<'changeMyPassword'>): Promise<Session> {
    this.signIn.assertPasswords();
    const { id, sessionId } = request.operator;
    const { oldPassword, newPassword, code } = request.body;
    const given = { password: oldPassword, code };
    const { passwordHash: before } = await this.signIn.checkOwn(request.operator, given);
    const after = await this.signIn.hash(newPassword);
    await this.sessions.setPassword(id, { before, after, keptSessionId: sessionId });
    return this.#continue(request, await this.sessions.proveSession(sessionId));
  }

  @Handles(consoleApi.listMySessions)
  async listMySessions({ operator }: RequestOf<'listMySessions'>): Promise<ReplyOf<'listMySessions'>> {
    const rows = await this.sessions.listSessions(operator.id);
    return {
      items: rows.map(({ createdAt, usedAt, endsAt, ...row }) => ({
        ...row,
        isCurrent: row.id === operator.sessionId,
        createdAt: createdAt.toISOString(),
        usedAt: usedAt.toISOString(),
        endsAt: endsAt.toISOString(),
      })),
    };
  }

  @Handles(consoleApi.endMySession)
  async endMySession(request: RequestOf<'endMySession'>): Promise<ReplyOf<'endMySession'>> {
    const { id, sessionId } = request.operator;
    const ended = await this.sessions.endSession(id, request.params.sessionId);
    if (!ended) throw appError('NOT_FOUND', { message: 'There is no such session.' });
    if (request.params.sessionId === sessionId) request.newToken = null;
    return {};
  }

  @Handles(consoleApi.listViews)
  async listViews({ operator, params }: RequestOf<'listViews'>): Promise<ReplyOf<'listViews'>> {
    return { items: await this.operators.views(operator.id, params.appId) };
  }

  @Handles(consoleApi.saveView)
  async saveView(request: RequestOf<'saveView'>): Promise<ReplyOf<'saveView'>> {
    const { operator, params, body } = request;
    if (body.isShared) request.require('users.write');
    await this.operators.saveView({ id: operator.id, sessionId: operator.sessionId }, params.appId, body);
    return {};
  }

  @Handles(consoleApi.deleteView)
  async deleteView(request: RequestOf<'deleteView'>): Promise<ReplyOf<'deleteView'>> {
    await this.operators.deleteView(request.operator.id, request.params, request.may('settings.write'));
    return {};
  }

  #beginByPassword(
    request: SessionRequest,
    { id, passwordHash }: { readonly id: string; readonly passwordHash: string },
  ): Promise<Session> {
    return this.#begin(request, { id, credential: passwordHash });
  }

  async #begin(
    request: SessionRequest,
    { id, credential }: { readonly id: string; readonly credential: string },
    provenAt?: Date | null,
  ): Promise<Session> {
    const browser: Browser = { network: request.network, name: request.browser };
    request.act = { target: id };
    if (request.signedIn !== undefined) await this.sessions.endSession(request.signedIn.id, request.signedIn.sessionId);
    return this.#continue(request, await this.sessions.createSession(id, credential, browser, provenAt));
  }

  async #continue(request: SessionRequest, token: string): Promise<Session> {
    const row = await this.sessions.findSession(token);
    if (row === undefined) throw appError('UNAUTHORIZED');
    request.newToken = token;
    request.act = { ...request.act, operator: { id: row.id, name: row.name } };
    return this.#sessionOf({ ...row, provenUntil: provenUntil(row.provenAt, this.clock.now()) });
  }

  #noSession(): Session {
    return {
      version: packageVersion(),
      isSetUp: true,
      hasPasswords: this.config.passwords,
      issuer: this.oidc.issuerName,
      operator: null,
      endsAt: null,
      provenUntil: null,
      needsSecondFactor: false,
    };
  }

  #sessionOf(signedIn: SignedIn): Session {
    const { language, theme, grants, endsAt, provenUntil: proven, needsSecondFactor } = signedIn;
    return {
      ...this.#noSession(),
      operator: {
        ...signedIn,
        grants: [...grants],
        language: LANGUAGES.find((each) => each === language) ?? null,
        theme: THEMES.find((each) => each === theme) ?? 'auto',
      },
      endsAt: endsAt.toISOString(),
      provenUntil: proven?.toISOString() ?? null,
      needsSecondFactor,
    };
  }
}

type SessionRequest = Pick<ConsoleRequest, 'act' | 'browser' | 'network' | 'newToken' | 'signedIn'>;

function definedOf<T extends object>(values: T): { [Key in keyof T]?: Exclude<T[Key], undefined> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as never;
}
