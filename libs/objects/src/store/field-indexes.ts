import { Controller, type Type } from '@nestjs/common';
import { TtlCache } from '#bootstrap';
import type { FieldIndexesRpc, FieldIndexReport, RpcData, RpcReply } from '#contracts';
import { appError } from '#errors';
import { RpcHandler } from '#messaging';
import { type FieldIndex, fieldIndexDefinition, isTextSearch } from '../query/field-index.js';
import type { QueryClass } from '../query/query.js';
import type { FieldIndexesRepository, IndexKey } from './field-indexes.repository.js';
import { SlowQueries } from './slow-queries.js';

/** The classes of a service, as the master key may query them. */
export interface FieldIndexed {
  get(className: string): QueryClass | undefined;
}

/** One cache entry for all applications, because indexes are few. */
const ALL = 'all';

/** The indexes of custom fields of one service: those that queries may use, and those that operators request. */
export class FieldIndexes {
  readonly #ready = new TtlCache(async () => ({ indexes: await this.repository.ready() }));

  constructor(
    private readonly repository: FieldIndexesRepository,
    private readonly classes: FieldIndexed,
  ) {}

  /**
   * The indexes for queries of the class, at most 1 s old: a statement returns the same rows without its index.
   * @throws AppError SERVICE_UNAVAILABLE
   */
  async of(appId: string, className: string): Promise<readonly FieldIndex[]> {
    const { indexes } = await this.#ready.get(ALL);
    return indexes.filter((index) => index.appId === appId && index.className === className);
  }

  /** @throws AppError INVALID_QUERY where the fields cannot be indexed, a limit is reached, or this index is being removed */
  async add(key: IndexKey): Promise<void> {
    this.assertPossible(key);
    await this.repository.add(key);
  }

  /** Adds an index of built-in texts, for searches of a part of a text. @throws AppError INVALID_QUERY as `add` */
  async addTextSearch(key: IndexKey): Promise<void> {
    const queryClass = this.classes.get(key.className);
    if (queryClass === undefined || !isTextSearch(key, queryClass))
      throw new Error(`${key.fields.join(', ')} are not texts of ${key.className}`);
    await this.repository.add(key);
  }

  /** @throws AppError NOT_FOUND */
  async remove(key: IndexKey): Promise<void> {
    if (!(await this.repository.markRemoving(key)))
      throw appError('NOT_FOUND', { message: `There is no index of ${key.fields.join(', ')} of ${key.className}.` });
    this.#ready.forget(ALL);
  }

  report(appId: string): Promise<FieldIndexReport[]> {
    return this.repository.report(appId);
  }

  private assertPossible({ appId, className, fields }: IndexKey): void {
    const queryClass = this.classes.get(className);
    if (queryClass === undefined) throw refused(`The class ${className} belongs to another service.`);
    if (new Set(fields).size < fields.length) throw refused('An index cannot contain a field twice.');
    for (const field of fields) {
      const { columns, relations, hidden } = queryClass;
      if (columns.has(field) || relations.has(field) || hidden.has(field))
        throw refused(`${field} is not a custom field of ${className}. Only custom fields can be indexed.`);
    }
    // Rejects every name with a special meaning in SQL, independent of earlier checks.
    fieldIndexDefinition({ fields }, appId, queryClass);
  }
}

function refused(message: string) {
  return appError('INVALID_QUERY', { message });
}

/** A controller that serves operators for one service. */
export function fieldIndexesRpcController(contract: FieldIndexesRpc): Type {
  @Controller()
  class FieldIndexesController {
    constructor(
      private readonly indexes: FieldIndexes,
      private readonly questions: SlowQueries,
    ) {}

    @RpcHandler(contract.add)
    async add(key: RpcData<FieldIndexesRpc['add']>): Promise<RpcReply<FieldIndexesRpc['add']>> {
      await this.indexes.add(key);
      return {};
    }

    @RpcHandler(contract.list)
    async list({ appId }: RpcData<FieldIndexesRpc['list']>): Promise<RpcReply<FieldIndexesRpc['list']>> {
      return { indexes: await this.indexes.report(appId) };
    }

    @RpcHandler(contract.remove)
    async remove(key: RpcData<FieldIndexesRpc['remove']>): Promise<RpcReply<FieldIndexesRpc['remove']>> {
      await this.indexes.remove(key);
      return {};
    }

    @RpcHandler(contract.listSlowQuestions)
    async listSlowQuestions({
      appId,
    }: RpcData<FieldIndexesRpc['listSlowQuestions']>): Promise<RpcReply<FieldIndexesRpc['listSlowQuestions']>> {
      const [questions, indexes] = [await this.questions.report(appId), await this.indexes.report(appId)];
      const names = new Set(indexes.map(({ className, fields }) => [className, ...fields].join(' ')));
      return {
        questions: questions.map((question) => ({
          ...question,
          isIndexed: names.has([question.className, ...question.fields].join(' ')),
        })),
      };
    }
  }
  return FieldIndexesController;
}
