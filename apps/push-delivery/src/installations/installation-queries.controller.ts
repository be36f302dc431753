import { Controller } from '@nestjs/common';
import { ApplicationDirectory } from '#admission';
import { installationsRpc, type RpcData, type RpcReply } from '#contracts';
import { appError } from '#errors';
import { RpcHandler } from '#messaging';
import { compileCount, compileFind, type ObjectQuery, parseOrder, parseWhere, pickKeys } from '#objects';
import { FieldIndexes, SlowQueries } from '#objects/store';
import { accessOf, presentInstallation } from './installation.presenter.js';
import { InstallationsRepository, PushQueryDatabase } from './installations.repository.js';

type Installations = typeof installationsRpc;

/** GET /1.1/installations and GET /1.1/installations/<objectId>. */
@Controller()
export class InstallationQueriesController {
  constructor(
    private readonly applications: ApplicationDirectory,
    private readonly installations: InstallationsRepository,
    private readonly queries: PushQueryDatabase,
    private readonly indexes: FieldIndexes,
    private readonly slowQueries: SlowQueries,
  ) {}

  /** @returns null if it does not exist or its ACL hides it. @throws AppError FORBIDDEN by class permission, INVALID_QUERY */
  @RpcHandler(installationsRpc.get)
  async get({
    objectId,
    keys,
    include,
    returnAcl,
    ...requester
  }: RpcData<Installations['get']>): Promise<RpcReply<Installations['get']>> {
    assertNoInclude(include);
    const access = await accessOf(requester, this.applications);
    access.assertMay('get');
    const installation = await this.installations.find(access.scope.appId, objectId);
    if (installation === undefined || !access.mayRead(installation)) return { installation: null };
    const showsAcl = access.isMaster || returnAcl;
    return { installation: pickKeys(presentInstallation(installation, { showsAcl }), keys) };
  }

  /** @throws AppError FORBIDDEN by class permission, INVALID_QUERY, QUERY_TIMED_OUT */
  @RpcHandler(installationsRpc.find)
  async find({ caller, principal, ...list }: RpcData<Installations['find']>): Promise<RpcReply<Installations['find']>> {
    assertNoInclude(list.include);
    const access = await accessOf({ caller, principal }, this.applications);
    const { scope } = access;
    const queryClass = scope.classOf('_Installation');
    const query: ObjectQuery = {
      where: parseWhere(list.where),
      order: parseOrder(list.order),
      limit: list.limit,
      skip: list.skip,
    };
    const { appId } = scope;
    const indexes = await this.indexes.of(appId, '_Installation');
    const timed = <T>(work: () => Promise<T>) => this.slowQueries.timed({ appId, queryClass, query }, work);
    const find = compileFind(query, queryClass, scope, indexes);
    const found = list.limit === 0 ? [] : await timed(() => this.installations.list(this.queries.for(find), find));
    const showsAcl = access.isMaster || list.returnAcl;
    const results = found.map((row) => pickKeys(presentInstallation(row, { showsAcl }), list.keys));
    if (!list.count) return { results };
    const counting = compileCount(query.where, queryClass, scope, indexes);
    const count = await timed(() => this.installations.count(this.queries.for(counting), counting));
    return { results, count };
  }
}

/** Other services store the objects that an installation points to. A response without them would look complete. */
function assertNoInclude(include: string | undefined): void {
  if (include !== undefined)
    throw appError('INVALID_QUERY', { message: '`include` is not supported for `_Installation`.' });
}
