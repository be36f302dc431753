import { Controller } from '@nestjs/common';
import { lockoutsRpc, type RpcData, type RpcReply } from '#contracts';
import { appError } from '#errors';
import { RpcHandler } from '#messaging';
import { ApplicationsService } from '../applications/applications.service.js';
import { LockoutService } from '../lockout/lockout.service.js';
import { UsersRepository } from '../users/users.repository.js';

type Rpc = typeof lockoutsRpc;
type Data<Name extends keyof Rpc> = RpcData<Rpc[Name]>;
type Reply<Name extends keyof Rpc> = Promise<RpcReply<Rpc[Name]>>;

/** Shows operators which logins are locked, and why. */
@Controller()
export class LockoutsController {
  constructor(
    private readonly users: UsersRepository,
    private readonly applications: ApplicationsService,
    private readonly lockouts: LockoutService,
  ) {}

  @RpcHandler(lockoutsRpc.list)
  async list({ appId, limit, after }: Data<'list'>): Reply<'list'> {
    await this.applications.assertKnown(appId);
    const cursor = after && { userId: after.userId, lockedUntil: new Date(after.lockedUntil) };
    const locked = await this.lockouts.list(appId, { limit, after: cursor });
    const usernames = await this.users.usernames(
      appId,
      locked.map(({ userId }) => userId),
    );
    const lockedUsers = locked.map(({ userId, lockedUntil }) => ({
      userId,
      username: usernames.get(userId) ?? null,
      lockedUntil: lockedUntil.toISOString(),
    }));
    return { lockedUsers };
  }

  @RpcHandler(lockoutsRpc.get)
  async get({ appId, user: name }: Data<'get'>): Reply<'get'> {
    await this.applications.assertKnown(appId);
    const user = (await this.users.find(appId, name)) ?? (await this.users.findByIdentifier(appId, 'username', name));
    if (user === undefined) throw appError('USER_NOT_FOUND', { message: `There is no user "${name}" in ${appId}.` });
    const { objectId: userId, username } = user;
    return { userId, username, ...(await this.lockouts.describe({ appId, userId })) };
  }
}
