import { Injectable } from '@nestjs/common';
import type { Caller, UserListQuery, VisibleUser } from '#contracts';
import { appError } from '#errors';
import { parseOrder, parseWhere } from '#object-query';
import { ApplicationsService } from '../applications/applications.service.js';
import { ClassAccess } from '../class-permissions/class-access.js';
import { SessionTokens } from '../sessions/session-tokens.js';
import { UserAccess } from './user-access.js';
import { presentUser } from './user.presenter.js';
import { UserWriter } from './user-writer.js';
import { UsersRepository } from './users.repository.js';

/** Reads, removes and lists users, and renews their session tokens. */
@Injectable()
export class UsersService {
  constructor(
    private readonly classes: ClassAccess,
    private readonly users: UsersRepository,
    private readonly writer: UserWriter,
    private readonly access: UserAccess,
    private readonly sessions: SessionTokens,
    private readonly applications: ApplicationsService,
  ) {}

  /** GET /1.1/users/<objectId> */
  async get(
    caller: Caller,
    objectId: string,
    options: { keys?: string[] | undefined; returnAcl: boolean },
  ): Promise<VisibleUser> {
    await this.classes.assertMay(caller, 'get', '_User');
    const user = await this.users.find(caller.appId, objectId);
    if (user === undefined) throw appError('USER_NOT_FOUND');
    const viewer = await this.access.viewer(caller, user);
    const hideContact = viewer === 'other' && (await this.applications.settingsOf(caller.appId)).hideContact;
    return presentUser(user, { viewer, hideContact, ...options });
  }

  /** GET /1.1/users/me: the user of the session token, with that token. */
  async getCurrent({ appId, sessionToken }: Caller): Promise<VisibleUser> {
    if (sessionToken === undefined) throw appError('USER_NOT_FOUND');
    const user = await this.users.findBySessionToken(appId, this.sessions.hash(sessionToken));
    if (user === undefined) throw appError('USER_NOT_FOUND');
    return presentUser(user, { viewer: 'owner', sessionToken });
  }

  /** GET /1.1/users. Query permission on `_User` is off: only the master key queries. */
  async list({ appId, isMaster }: Caller, list: UserListQuery): Promise<{ users: VisibleUser[]; count?: number }> {
    if (!isMaster) throw appError('FORBIDDEN', { message: "Forbidden to find by class '_User' permissions." });
    const query = { where: parseWhere(list.where), order: parseOrder(list.order), limit: list.limit, skip: list.skip };
    const rows = list.limit === 0 ? [] : await this.users.list(appId, query);
    return {
      users: rows.map((user) => presentUser(user, { viewer: 'master', keys: list.keys })),
      ...(list.count ? { count: await this.users.count(appId, query) } : {}),
    };
  }

  /** PUT /1.1/users/<objectId>/refreshSessionToken: the old token is dead once this returns. */
  async refreshSessionToken(caller: Caller, objectId: string): Promise<VisibleUser> {
    const session = this.sessions.create(objectId);
    const user = await this.writer.transaction((tx) =>
      this.writer.change(tx, caller.appId, objectId, (current) => {
        if (!caller.isMaster && !this.access.isOwner(caller, current)) throw appError('SESSION_REQUIRED');
        return { ...current, ...session.columns };
      }),
    );
    if (user === undefined) throw this.access.missing(caller);
    return presentUser(user, { viewer: 'owner', sessionToken: session.token });
  }

  /** DELETE /1.1/users/<objectId> */
  async remove(caller: Caller, objectId: string): Promise<void> {
    await this.classes.assertMay(caller, 'delete', '_User');
    await this.writer.transaction(async (tx) => {
      const isRemoved = await this.writer.remove(tx, caller.appId, objectId, (current) =>
        this.access.assertMayWrite(caller, current, tx),
      );
      if (!isRemoved) throw this.access.missing(caller);
    });
  }
}
