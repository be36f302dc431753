import { Injectable } from '@nestjs/common';
import type { JsonObject, ObjectListQuery, ObjectReadOptions } from '#contracts';
import { appError } from '#errors';
import { compileCount, compileFind, type ObjectQuery, parseOrder, parseWhere, pickKeys } from '#objects';
import { FieldIndexes, SlowQuestions } from '#objects/store';
import { type Asker, InstallationAccesses } from './installation-access.js';
import { presentInstallation } from './installation.presenter.js';
import { InstallationsRepository } from './installations.repository.js';
import { PushQueryDatabase } from './push-query-database.js';

/** GET /1.1/installations and GET /1.1/installations/<objectId>. */
@Injectable()
export class ReadInstallationsService {
  constructor(
    private readonly accesses: InstallationAccesses,
    private readonly installations: InstallationsRepository,
    private readonly queries: PushQueryDatabase,
    private readonly indexes: FieldIndexes,
    private readonly slowQuestions: SlowQuestions,
  ) {}

  /** @returns undefined where there is none, or where its ACL hides it. @throws AppError FORBIDDEN by class permission, INVALID_QUERY */
  async get(
    asker: Asker,
    objectId: string,
    { keys, include, returnAcl }: ObjectReadOptions,
  ): Promise<JsonObject | undefined> {
    assertNoInclude(include);
    const access = await this.accesses.of(asker);
    access.assertMay('get');
    const installation = await this.installations.find(access.scope.appId, objectId);
    if (installation === undefined || !access.mayRead(installation)) return undefined;
    return pickKeys(presentInstallation(installation, { showsAcl: access.isMaster || returnAcl }), keys);
  }

  /** @throws AppError FORBIDDEN by class permission, INVALID_QUERY, QUERY_TIMED_OUT */
  async find(asker: Asker, list: ObjectListQuery): Promise<{ results: JsonObject[]; count?: number }> {
    assertNoInclude(list.include);
    const access = await this.accesses.of(asker);
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
    const timed = <T>(work: () => Promise<T>) => this.slowQuestions.timed({ appId, queryClass, query }, work);
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

/** What an installation points to is kept by other services. An answer that leaves it out in silence would look complete. */
function assertNoInclude(include: string | undefined): void {
  if (include !== undefined)
    throw appError('INVALID_QUERY', { message: 'Installations are answered without include.' });
}
