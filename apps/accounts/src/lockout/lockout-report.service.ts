import { Injectable } from '@nestjs/common';
import type { LockedUser, lockoutsRpc, RpcData, RpcReply } from '#contracts';
import { appError } from '#errors';
import { ApplicationsService } from '../applications/applications.service.js';
import { UsersRepository } from '../users/users.repository.js';
import { LockoutService } from './lockout.service.js';

type Lockouts = typeof lockoutsRpc;

/** Tells operators who is locked, and until when. */
@Injectable()
export class LockoutReportService {
  constructor(
    private readonly lockouts: LockoutService,
    private readonly users: UsersRepository,
    private readonly applications: ApplicationsService,
  ) {}

  /** @throws AppError NOT_FOUND where there is no such application */
  async list({ appId, limit, after }: RpcData<Lockouts['list']>): Promise<LockedUser[]> {
    await this.applications.get(appId);
    const cursor = after && { userId: after.userId, lockedUntil: new Date(after.lockedUntil) };
    const locked = await this.lockouts.list(appId, { limit, after: cursor });
    const usernames = await this.users.usernames(
      appId,
      locked.map(({ userId }) => userId),
    );
    return locked.map(({ userId, lockedUntil }) => ({
      userId,
      username: usernames.get(userId) ?? null,
      lockedUntil: lockedUntil.toISOString(),
    }));
  }

  /** @throws AppError NOT_FOUND where there is no such application, USER_NOT_FOUND where there is no such user */
  async get({ appId, user: name }: RpcData<Lockouts['get']>): Promise<RpcReply<Lockouts['get']>> {
    await this.applications.get(appId);
    const user = (await this.users.find(appId, name)) ?? (await this.users.findByIdentifier(appId, 'username', name));
    if (user === undefined) throw appError('USER_NOT_FOUND', { message: `There is no user "${name}" in ${appId}.` });
    const { objectId: userId, username } = user;
    const { lockedUntil, failures } = await this.lockouts.find({ appId, userId });
    return { userId, username, lockedUntil: lockedUntil?.toISOString() ?? null, failures };
  }
}
