import { Controller } from '@nestjs/common';
import { Clock } from '#bootstrap';
import {
  type Caller,
  emailsRpc,
  type JsonObject,
  type MailKind,
  type MailLink,
  type RpcData,
  type RpcReply,
} from '#contracts';
import type { Tx } from '#database';
import { appError, isAppError } from '#errors';
import { RpcHandler } from '#messaging';
import { isAbsent, parseEmail, requirePassword } from '#objects';
import { ApplicationsService } from '../applications/applications.service.js';
import { LockoutService } from '../lockout/lockout.service.js';
import { type MailOrigin, MailSender, type MailToken, MailTokens } from '../messages/mail-sender.js';
import type { AllowanceRefusal } from '../messages/message-allowances.repository.js';
import { PasswordsService } from '../passwords/passwords.service.js';
import { UserTransactions } from '../users/user-transactions.js';
import type { UserRow } from '../users/user.rules.js';
import { UsersRepository } from '../users/users.repository.js';

type Rpc = typeof emailsRpc;
type Data<Name extends keyof Rpc> = RpcData<Rpc[Name]>;
type Reply<Name extends keyof Rpc> = Promise<RpcReply<Rpc[Name]>>;

interface FoundLink extends LinkState {
  readonly token: MailToken;
  readonly user: UserRow;
}

interface LinkRequest {
  readonly kind: MailKind;
  readonly email: string;
  readonly quietProfile: boolean;
}

const UNKNOWN: MailLink = {
  state: 'expired',
  applicationName: null,
  email: null,
  username: null,
  canBeRenewed: false,
};

/** Mailed links: email verification and password resets (specification, States and transitions, emailVerified). */
@Controller()
export class EmailsController {
  constructor(
    private readonly users: UsersRepository,
    private readonly transactions: UserTransactions,
    private readonly applications: ApplicationsService,
    private readonly sender: MailSender,
    private readonly tokens: MailTokens,
    private readonly passwords: PasswordsService,
    private readonly lockouts: LockoutService,
    private readonly clock: Clock,
  ) {}

  /** POST /1.1/requestEmailVerify. @throws AppError as `requestPasswordReset`; EMAIL_VERIFICATION_OFF */
  @RpcHandler(emailsRpc.requestVerification)
  async requestVerification({ caller, body }: Data<'requestVerification'>): Reply<'requestVerification'> {
    const email = requireEmail(body);
    const { verifyEmailOnSignUp, quietProfile } = await this.applications.settingsOf(caller.appId);
    if (!verifyEmailOnSignUp) throw appError('EMAIL_VERIFICATION_OFF');
    await this.#withUser(caller, { kind: 'verifyEmail', email, quietProfile }, async (tx, user) => {
      if (user.emailVerified !== true) await this.#sendVerification(tx, caller, user);
      else if (quietProfile) assertSent(await this.sender.sendDecoy(tx, caller, 'verifyEmail', email));
    });
    return {};
  }

  /** POST /1.1/requestPasswordReset. @throws AppError EMAIL_MISSING, INVALID_EMAIL, EMAIL_NOT_FOUND, TOO_MANY_EMAILS */
  @RpcHandler(emailsRpc.requestPasswordReset)
  async requestPasswordReset({ caller, body }: Data<'requestPasswordReset'>): Reply<'requestPasswordReset'> {
    const email = requireEmail(body);
    const { quietProfile } = await this.applications.settingsOf(caller.appId);
    await this.#withUser(caller, { kind: 'resetPassword', email, quietProfile }, async (tx, user) => {
      assertSent(await this.sender.send(tx, caller, 'resetPassword', user));
    });
    return {};
  }

  /** Ends every reset link: of concurrent requests one succeeds. @throws AppError LINK_EXPIRED, PASSWORD_MISSING, INVALID_PASSWORD */
  @RpcHandler(emailsRpc.resetPassword)
  async resetPassword({ token: tokenText, password: given }: Data<'resetPassword'>): Reply<'resetPassword'> {
    const password = requirePassword(given);
    const { appId, userId } = assertOpen(await this.#findLink('resetPassword', tokenText)).token;
    const prepared = await this.passwords.prepare(userId, password, { renewsSession: true });
    // Before the password: a used link cannot be sent again to remove a lock that stayed.
    await this.lockouts.clear({ appId, userId });
    await this.transactions.run(async (tx) => {
      assertOpen(await this.#lockLink(tx, 'resetPassword', tokenText));
      await this.transactions.change(tx, { appId }, userId, (user) => ({
        ...withProvenAddress(user),
        ...prepared.columns,
      }));
    });
    return {};
  }

  /** Changes nothing: virus scanners open links too. */
  @RpcHandler(emailsRpc.inspectLink)
  async inspectLink({ kind, token: tokenText }: Data<'inspectLink'>): Reply<'inspectLink'> {
    return { link: await this.#inspect(kind, tokenText) };
  }

  /** Of concurrent requests one changes the user. @returns the state of the link just before. @throws AppError LINK_EXPIRED */
  @RpcHandler(emailsRpc.verify)
  async verify({ token: tokenText }: Data<'verify'>): Reply<'verify'> {
    const found = await this.transactions.run((tx) => this.#redeem(tx, tokenText));
    if (found === undefined || found.state === 'expired') throw appError('LINK_EXPIRED');
    return { link: await this.#describe(found) };
  }

  /** Sends a new link to a user who followed an old one. @throws AppError LINK_EXPIRED, TOO_MANY_EMAILS */
  @RpcHandler(emailsRpc.renewLink)
  async renewLink({ kind, token: tokenText, languages }: Data<'renewLink'>): Reply<'renewLink'> {
    if (!(await this.#inspect(kind, tokenText)).canBeRenewed) throw appError('LINK_EXPIRED');
    await this.transactions.run(async (tx) => {
      const found = await this.#lockLink(tx, kind, tokenText);
      if (!found?.canBeRenewed) throw appError('LINK_EXPIRED');
      const origin = { appId: found.token.appId, languages };
      if (kind === 'verifyEmail') return this.#sendVerification(tx, origin, found.user);
      assertSent(await this.sender.send(tx, origin, kind, found.user));
    });
    return {};
  }

  /** With `quietProfile` response and time are the same for every address and number of mails: else they would reveal the user. */
  async #withUser(
    caller: Caller,
    { kind, email, quietProfile }: LinkRequest,
    work: (tx: Tx, user: UserRow) => Promise<void>,
  ): Promise<void> {
    const owner = await this.users.findByIdentifier(caller.appId, 'email', email);
    try {
      await this.transactions.run(async (tx) => {
        const user = await this.users.lock(tx, caller.appId, owner?.objectId ?? '');
        if (user?.email === email) return work(tx, user);
        if (!quietProfile) throw appError('EMAIL_NOT_FOUND');
        assertSent(await this.sender.sendDecoy(tx, caller, kind, email));
      });
    } catch (error) {
      if (!quietProfile || !isTooMany(error)) throw error;
    }
  }

  /** Sends a link to a locked user. An address without a verification state becomes unverified. @throws AppError TOO_MANY_EMAILS */
  async #sendVerification(tx: Tx, origin: MailOrigin, user: UserRow): Promise<void> {
    const unverify = (current: UserRow) => ({ ...current, emailVerified: false });
    const unverified =
      user.emailVerified === null ? await this.transactions.change(tx, origin, user.objectId, unverify) : user;
    if (unverified !== undefined) assertSent(await this.sender.send(tx, origin, 'verifyEmail', unverified));
  }

  async #redeem(tx: Tx, tokenText: string): Promise<FoundLink | undefined> {
    const found = await this.#lockLink(tx, 'verifyEmail', tokenText);
    if (found?.state !== 'open') return found;
    const { appId, userId } = found.token;
    await this.transactions.change(tx, { appId }, userId, (current) => ({ ...current, emailVerified: true }));
    return found;
  }

  async #inspect(kind: MailKind, tokenText: string): Promise<MailLink> {
    const found = await this.#findLink(kind, tokenText);
    return found === undefined ? UNKNOWN : this.#describe(found);
  }

  /** Includes the user's name and address only if the user still has the address that received the link. */
  async #describe({ token, user, state, canBeRenewed }: FoundLink): Promise<MailLink> {
    const { name, settings } = await this.applications.profileOf(token.appId);
    const isUnchanged = isAddressUnchanged(token, user);
    return {
      state,
      applicationName: name,
      email: isUnchanged ? user.email : null,
      username: isUnchanged ? user.username : null,
      canBeRenewed: canBeRenewed && (token.kind === 'resetPassword' || settings.verifyEmailOnSignUp),
    };
  }

  /** @returns undefined if the token is not genuine, is of another kind, or its user no longer exists */
  #findLink(kind: MailKind, tokenText: string): Promise<FoundLink | undefined> {
    return this.#resolveLink(kind, tokenText, ({ appId, userId }) => this.users.find(appId, userId));
  }

  #lockLink(tx: Tx, kind: MailKind, tokenText: string): Promise<FoundLink | undefined> {
    return this.#resolveLink(kind, tokenText, ({ appId, userId }) => this.users.lock(tx, appId, userId));
  }

  async #resolveLink(
    kind: MailKind,
    tokenText: string,
    load: (token: MailToken) => Promise<UserRow | undefined>,
  ): Promise<FoundLink | undefined> {
    const read = this.tokens.read(tokenText);
    if (read?.token.kind !== kind) return undefined;
    const { token } = read;
    const user = await load(token);
    if (user === undefined || !this.tokens.isGenuine(read, user)) return undefined;
    return { token, user, ...stateOf(token, user, this.clock.now()) };
  }
}

function isTooMany(error: unknown): boolean {
  return isAppError(error, 'TOO_MANY_EMAILS');
}

function assertSent(refusal: AllowanceRefusal | undefined): void {
  if (refusal !== undefined) throw appError('TOO_MANY_EMAILS', refusal);
}

function assertOpen(link: FoundLink | undefined): FoundLink {
  if (link?.state !== 'open') throw appError('LINK_EXPIRED');
  return link;
}

export type LinkState = Pick<MailLink, 'state' | 'canBeRenewed'>;
type Addressee = Pick<UserRow, 'email' | 'emailVerified' | 'emailVersion' | 'passwordVersion'>;

interface LinkToken {
  readonly kind: MailKind;
  readonly emailVersion: number;
  readonly passwordVersion: number;
  readonly expiresAt: Date;
}

export function isAddressUnchanged({ emailVersion }: LinkToken, user: Addressee): boolean {
  return user.email !== null && emailVersion === user.emailVersion;
}

/** Another address ends every link, another password the reset links; all expire (specification, States and transitions). */
export function stateOf(token: LinkToken, user: Addressee, now: Date): LinkState {
  if (!isAddressUnchanged(token, user)) return { state: 'expired', canBeRenewed: false };
  if (token.kind === 'verifyEmail' && user.emailVerified === true) return { state: 'done', canBeRenewed: false };
  const isOutdated = token.kind === 'resetPassword' && token.passwordVersion !== user.passwordVersion;
  const isOpen = !isOutdated && now < token.expiresAt;
  return { state: isOpen ? 'open' : 'expired', canBeRenewed: !isOpen };
}

/** If the address was unverified, another person may have created the account: then all other credentials are removed. */
export function withProvenAddress(user: UserRow): UserRow {
  if (user.emailVerified !== false) return user;
  return { ...user, emailVerified: true, identities: null, mobilePhoneNumber: null, mobilePhoneVerified: false };
}

export function requireEmail({ email }: JsonObject): string {
  if (isAbsent(email)) throw appError('EMAIL_MISSING');
  return parseEmail(email);
}
