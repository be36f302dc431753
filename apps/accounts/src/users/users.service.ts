import { Injectable } from '@nestjs/common';
import type { Caller, JsonObject, ObjectReadOptions, VisibleUser } from '#contracts';
import { appError } from '#errors';
import { pickKeys } from '#objects';
import { ApplicationsService } from '../applications/applications.service.js';
import { ClassAccess } from '../class-permissions/class-access.js';
import { GetObjectService } from '../objects/get-object.service.js';
import { SessionTokens } from '../sessions/session-tokens.js';
import { UserAccess } from './user-access.js';
import { presentUser } from './user.presenter.js';
import { UsersRepository } from './users.repository.js';

/** Reads users. */
@Injectable()
export class UsersService {
  constructor(
    private readonly classes: ClassAccess,
    private readonly users: UsersRepository,
    private readonly access: UserAccess,
    private readonly sessions: SessionTokens,
    private readonly applications: ApplicationsService,
    private readonly getObject: GetObjectService,
  ) {}

  /** GET /1.1/users/<objectId>. Most requests cost one look-up: who asks is resolved only where that matters. */
  async get(caller: Caller, objectId: string, options: ObjectReadOptions): Promise<VisibleUser> {
    if (options.include !== undefined) return this.getWithIncluded(caller, objectId, options);
    await this.classes.assertMay(caller, 'get', '_User');
    const user = await this.users.find(caller.appId, objectId);
    if (user === undefined) throw appError('USER_NOT_FOUND');
    const viewer = await this.access.viewer(caller, user);
    const hideContact = viewer === 'other' && (await this.applications.settingsOf(caller.appId)).hideContact;
    const shown = presentUser(user, { viewer, hideContact, returnAcl: options.returnAcl });
    return pickKeys(shown, options.keys) as VisibleUser;
  }

  /** GET /1.1/users/me: the user of the session token, with that token. */
  async getCurrent({ appId, sessionToken }: Caller): Promise<VisibleUser> {
    if (sessionToken === undefined) throw appError('USER_NOT_FOUND');
    const user = await this.users.findBySessionToken(appId, this.sessions.hashes(sessionToken));
    if (user === undefined) throw appError('USER_NOT_FOUND');
    return presentUser(user, { viewer: 'owner', sessionToken });
  }

  private async getWithIncluded(caller: Caller, objectId: string, options: ObjectReadOptions): Promise<VisibleUser> {
    const user: JsonObject | undefined = await this.getObject.get(caller, '_User', objectId, options);
    if (user === undefined) throw appError('USER_NOT_FOUND');
    return user as VisibleUser;
  }
}
