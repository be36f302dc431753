import { Injectable } from '@nestjs/common';
import type { Caller, JsonObject, ObjectListQuery } from '#contracts';
import { compileCount, compileFind, type ObjectQuery, parseOrder, parseWhere, pickKeys } from '#objects';
import { FieldIndexes, SlowQuestions } from '#objects/store';
import { IncludeService } from './include.service.js';
import { ObjectReaders } from './object-readers.js';
import type { StoredClassName } from './reading.types.js';
import { Readings } from './readings.js';

/** GET /1.1/users, /1.1/roles and their aliases. */
@Injectable()
export class FindObjectsService {
  constructor(
    private readonly readings: Readings,
    private readonly readers: ObjectReaders,
    private readonly includes: IncludeService,
    private readonly indexes: FieldIndexes,
    private readonly slowQuestions: SlowQuestions,
  ) {}

  /** @throws AppError FORBIDDEN by class permission, INVALID_QUERY, QUERY_TIMED_OUT */
  async find(
    caller: Caller,
    className: StoredClassName,
    list: ObjectListQuery,
  ): Promise<{ results: JsonObject[]; count?: number }> {
    const reading = await this.readings.of(caller, list.returnAcl);
    const { scope } = reading;
    const queryClass = scope.classOf(className);
    const query: ObjectQuery = {
      where: parseWhere(list.where),
      order: parseOrder(list.order),
      limit: list.limit,
      skip: list.skip,
    };
    const { appId } = caller;
    const indexes = await this.indexes.of(appId, className);
    const find = compileFind(query, queryClass, scope, indexes);
    const reader = this.readers.of(className);
    const timed = <T>(work: () => Promise<T>) => this.slowQuestions.timed({ appId, queryClass, query }, work);
    const found = list.limit === 0 ? [] : await timed(() => reader.find(find));
    const results = found.map((object) => object.present(reading));
    await this.includes.include(results, list.include, reading);
    return {
      results: results.map((object) => pickKeys(object, list.keys)),
      ...(list.count
        ? { count: await timed(() => reader.count(compileCount(query.where, queryClass, scope, indexes))) }
        : {}),
    };
  }
}
