import { RecentReads } from '#bootstrap';
import type { ClassName, FieldIndexReport } from '#contracts';
import { appError } from '#errors';
import { type FieldIndex, fieldIndexDefinition } from '../query/field-index.js';
import type { QueryClass } from '../query/query.js';
import type { FieldIndexesRepository, IndexKey } from './field-indexes.repository.js';

/** The classes that a service keeps, as the master key may query them. */
export type FieldIndexed = ReadonlyMap<ClassName, QueryClass>;

/** Of all applications together: there are few. */
const ALL = 'all';

/** The indexes of custom fields of one service: which of them queries may use, and what operators want of them. */
export class FieldIndexes {
  readonly #ready = new RecentReads(async () => ({ indexes: await this.repository.ready() }));

  constructor(
    private readonly repository: FieldIndexesRepository,
    private readonly classes: FieldIndexed,
  ) {}

  /**
   * Those that a query of the class may use. They may be a second old: a statement means the same without its index.
   * @throws AppError SERVICE_UNAVAILABLE
   */
  async of(appId: string, className: ClassName): Promise<readonly FieldIndex[]> {
    const { indexes } = await this.#ready.get(ALL);
    return indexes.filter((index) => index.appId === appId && index.className === className);
  }

  /** @throws AppError INVALID_QUERY where the fields cannot be indexed, there are too many indexes, or this one is being removed */
  async add(key: IndexKey): Promise<void> {
    this.assertPossible(key);
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
    if (queryClass === undefined) throw refused(`Another service keeps the class ${className}.`);
    if (new Set(fields).size < fields.length) throw refused('Each field can be in an index once.');
    for (const field of fields) {
      const { columns, relations, hidden } = queryClass;
      if (columns.has(field) || relations.has(field) || hidden.has(field))
        throw refused(`${field} is no custom field of ${className}: only custom fields can be indexed.`);
    }
    // Refuses every name that could mean anything in SQL, whatever was checked before.
    fieldIndexDefinition({ fields }, appId, queryClass);
  }
}

function refused(message: string) {
  return appError('INVALID_QUERY', { message });
}
