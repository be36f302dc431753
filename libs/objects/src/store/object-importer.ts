import { Controller, type Type } from '@nestjs/common';
import type {
  ClassName,
  ImportedObject,
  ImportNote,
  ImportObjectsReply,
  ImportObjectsRequest,
  ImportVerdict,
  ObjectImportRpc,
  RpcData,
  RpcReply,
} from '#contracts';
import { type Database, type Queryable, type Tx, violatedUniqueConstraint } from '#database';
import { appError } from '#errors';
import { RpcHandler } from '#messaging';
import type { ObjectRow } from '../class-definition.js';
import { claimsOf, type ImportClaim, isTokenClaim, requiredField, withoutClaim } from '../import-claims.js';
import { importHeap, ImportStatistics } from './import-upkeep.js';
import { type ImportedRow, type ImportRules, plainImport } from './import-rules.js';
import type { ObjectRepository } from './object.repository.js';
import type { StoredClasses } from './stored-classes.js';

interface ImporterParts<Row extends ObjectRow> {
  readonly className: ClassName;
  readonly objects: ObjectRepository<Row>;
  readonly database: Database;
  /** Maximum size of an object's custom fields. */
  readonly limitBytes: number;
  readonly rules: ImportRules<Row>;
}

type Batch = Pick<ImportObjectsRequest, 'appId' | 'objects' | 'wrapPasswords' | 'earlier'>;

const MAX_TRIES = 4;

/**
 * Imports the objects of one class in batches. A batch is judged row by row in the order of the export and written in one transaction.
 * Unique constraints decide about concurrent sign-ups: a batch that violates one is judged again, and then in halves.
 */
class ObjectImporter<Row extends ObjectRow> {
  constructor(private readonly parts: ImporterParts<Row>) {}

  /** @throws AppError SERVICE_UNAVAILABLE where concurrent writes keep taking a value that the batch needs */
  async import(request: ImportObjectsRequest): Promise<ImportObjectsReply> {
    if (request.isPreview) return (await this.#judge(request, this.parts.database)).reply;
    return this.#write(request);
  }

  async #write(batch: Batch): Promise<ImportObjectsReply> {
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const reply = await this.#tryToWrite(batch);
      if (reply !== undefined) return reply;
      if (batch.objects.length > 1) return this.#writeHalves(batch);
    }
    throw appError('SERVICE_UNAVAILABLE');
  }

  /** Values that move between objects of one batch can violate a constraint until all rows are written. */
  async #writeHalves(batch: Batch): Promise<ImportObjectsReply> {
    const middle = Math.ceil(batch.objects.length / 2);
    const first = await this.#write({ ...batch, objects: batch.objects.slice(0, middle) });
    const second = await this.#write({ ...batch, objects: batch.objects.slice(middle) });
    return {
      verdicts: [...first.verdicts, ...second.verdicts],
      released: [...first.released, ...second.released],
    };
  }

  /** @returns undefined where a concurrent write has taken a value, or changed a row, since the judgement */
  async #tryToWrite(batch: Batch): Promise<ImportObjectsReply | undefined> {
    const { appId, wrapPasswords } = batch;
    const judged = await this.#judge(batch, this.parts.database);
    if (judged.accepted.length === 0) return judged.reply;
    const rows = await this.parts.rules.prepare(judged.accepted, { wrapPasswords });
    try {
      return await this.parts.database.transaction(async (tx) => {
        await this.#assertUnchanged(tx, appId, judged.accepted);
        await this.#store(tx, appId, judged.accepted, rows);
        return judged.reply;
      });
    } catch (error) {
      const isOutdated = error instanceof OutdatedJudgement || violatedUniqueConstraint(error) !== undefined;
      if (isOutdated) return undefined;
      throw error;
    }
  }

  /** Locks the rows that the batch replaces, in one order. @throws OutdatedJudgement where one has changed since it was read */
  async #assertUnchanged(tx: Tx, appId: string, accepted: readonly ImportedRow<Row>[]): Promise<void> {
    const read = accepted.flatMap(({ current }) => current ?? []);
    if (read.length === 0) return;
    const ids = read.map(({ objectId }) => objectId);
    await this.parts.objects.lockMany(tx, appId, ids);
    const locked = new Map((await this.parts.objects.findEach(tx, appId, ids)).map((row) => [row.objectId, row]));
    const isSame = read.every(
      ({ objectId, updatedAt }) => locked.get(objectId)?.updatedAt.getTime() === updatedAt.getTime(),
    );
    if (!isSame) throw new OutdatedJudgement();
  }

  async #store(tx: Tx, appId: string, accepted: readonly ImportedRow<Row>[], rows: readonly Row[]): Promise<void> {
    const isNew = (_: Row, index: number) => accepted[index]?.current === undefined;
    const { objects, rules } = this.parts;
    const replaced = rows.filter((row, index) => !isNew(row, index));
    await objects.updateMany(tx, appId, replaced);
    await objects.insertMany(tx, appId, rows.filter(isNew));
    await rules.storeParts?.(tx, appId, { rows, replaced });
  }

  async #judge({ appId, objects, earlier }: Batch, within: Queryable): Promise<Judgement<Row>> {
    const { className, rules, limitBytes } = this.parts;
    const ids = [...new Set(objects.map(({ objectId }) => objectId))];
    const stored = await this.parts.objects.findEach(within, appId, ids);
    const claims = objects.flatMap((object) => claimsOf(className, object));
    const held = stored.flatMap((row) => rules.claimsOf(row).map(({ key }) => [key, row.objectId] as const));
    const state: JudgedState<Row> = {
      className,
      limitBytes,
      owners: new Map([
        ...held,
        ...(await rules.owners(within, appId, claims)),
        ...Object.entries(earlier?.owners ?? {}),
      ]),
      known: new Map(),
      accepted: new Map(),
      released: new Set(),
    };
    for (const row of stored)
      state.known.set(row.objectId, { createdAt: row.createdAt, changedAt: rules.changedAt(row), current: row });
    for (const { objectId, createdAt, updatedAt } of earlier?.objects ?? [])
      state.known.set(objectId, {
        ...(state.known.get(objectId) ?? {}),
        createdAt: new Date(createdAt),
        changedAt: new Date(updatedAt),
      });
    const verdicts = objects.map((object) => judge(object, state));
    return { accepted: [...state.accepted.values()], reply: { verdicts, released: [...state.released] } };
  }
}

/** A row has changed between the judgement and the transaction. */
class OutdatedJudgement extends Error {}

interface Judgement<Row> {
  readonly accepted: readonly ImportedRow<Row>[];
  readonly reply: ImportObjectsReply;
}

interface KnownObject<Row> {
  readonly createdAt: Date;
  readonly changedAt: Date;
  readonly current?: Row;
}

/** What the objects of a batch are judged by. Each accepted object changes it for those after it. */
interface JudgedState<Row> {
  readonly className: ClassName;
  readonly limitBytes: number;
  /** By claim; null: free. */
  readonly owners: Map<string, string | null>;
  readonly known: Map<string, KnownObject<Row>>;
  readonly accepted: Map<string, ImportedRow<Row>>;
  readonly released: Set<string>;
}

function judge<Row>(object: ImportedObject, state: JudgedState<Row>): ImportVerdict {
  const known = state.known.get(object.objectId);
  const settled = known === undefined ? undefined : compared(object, known, state);
  if (settled !== undefined) return settled;
  if (Buffer.byteLength(JSON.stringify(object.fields)) > state.limitBytes)
    return refused({ field: 'fields', reason: `are larger than ${state.limitBytes} bytes together` });
  const taken = claimsOf(state.className, object).flatMap(({ field, key }) => takenBy(object, state, { field, key }));
  const required = taken.find(({ field }) => field === requiredField(state.className));
  if (required !== undefined) return refused(required);
  const stored = taken.reduce((kept, { field }) => withoutClaim(kept, field), object);
  const [first] = taken;
  if (first !== undefined && claimsOf(state.className, stored).length === 0) return refused(first);
  accept(stored, state);
  return { outcome: taken.length === 0 ? 'imported' : 'imported_without', notes: taken };
}

/** The verdict about an object whose id is known, unless it replaces the known one. */
function compared<Row>(
  object: ImportedObject,
  known: KnownObject<Row>,
  { className }: JudgedState<Row>,
): ImportVerdict | undefined {
  const isAnother = className !== '_Installation' && known.createdAt.getTime() !== Date.parse(object.createdAt);
  if (isAnother) return refused({ field: 'objectId', reason: 'belongs to another object', by: object.objectId });
  const difference = Date.parse(object.updatedAt) - known.changedAt.getTime();
  if (difference > 0) return undefined;
  return { outcome: difference === 0 ? 'unchanged' : 'kept_newer', notes: [] };
}

function refused(note: ImportNote): ImportVerdict {
  return { outcome: 'refused', notes: [note] };
}

function takenBy<Row>({ objectId }: ImportedObject, { owners }: JudgedState<Row>, claim: ImportClaim): ImportNote[] {
  const owner = owners.get(claim.key) ?? objectId;
  return owner === objectId ? [] : [{ field: claim.field, reason: 'is taken', by: owner }];
}

function accept<Row>(object: ImportedObject, state: JudgedState<Row>): void {
  const { objectId } = object;
  const claims = new Set(claimsOf(state.className, object).map(({ key }) => key));
  if (state.known.has(objectId)) release(object, claims, state);
  for (const key of claims) {
    state.owners.set(key, objectId);
    state.released.delete(key);
  }
  const before = state.accepted.get(objectId);
  const current = state.known.get(objectId)?.current;
  // The last version is written last, so that values that move between objects are free by then.
  state.accepted.delete(objectId);
  state.accepted.set(objectId, { object: completed(object, before?.object), current });
  state.known.set(objectId, {
    createdAt: new Date(object.createdAt),
    changedAt: new Date(object.updatedAt),
    ...(current === undefined ? {} : { current }),
  });
}

/** Frees the values that the stored or an earlier version has and the new one has not. A version without a session token keeps the token. */
function release<Row>(
  { objectId, sessionToken }: ImportedObject,
  kept: ReadonlySet<string>,
  { owners, released }: JudgedState<Row>,
): void {
  for (const [key, owner] of owners) {
    const isKeptToken = sessionToken === undefined && isTokenClaim(key);
    if (owner !== objectId || kept.has(key) || isKeptToken) continue;
    owners.set(key, null);
    released.add(key);
  }
}

/** A later row of the same object that lacks the password or the token, as a scan does, keeps those of the earlier one. */
function completed(object: ImportedObject, before: ImportedObject | undefined): ImportedObject {
  const { password, sessionToken } = { ...before, ...object };
  return {
    ...object,
    ...(password === undefined ? {} : { password }),
    ...(sessionToken === undefined ? {} : { sessionToken }),
  };
}

/** The importers of a service's classes. */
export class ObjectImports {
  private readonly statistics: ImportStatistics;

  constructor(
    private readonly classes: StoredClasses,
    private readonly database: Database,
    private readonly limitBytes: number,
  ) {
    this.statistics = new ImportStatistics(database);
  }

  /** @throws AppError NOT_FOUND for a class that this service does not store; as `ObjectImporter.import` */
  async import(request: ImportObjectsRequest): Promise<ImportObjectsReply> {
    const { className } = request;
    const { objects, imports } = this.classes.of(className);
    const { database, limitBytes } = this;
    const rules = imports ?? plainImport(className, objects);
    importHeap.touch();
    const reply = await new ObjectImporter({ className, objects, database, limitBytes, rules }).import(request);
    if (!request.isPreview) await this.statistics.add([objects.table, ...(rules.tables ?? [])], writtenIn(reply));
    return reply;
  }
}

function writtenIn({ verdicts }: ImportObjectsReply): number {
  return verdicts.filter(({ outcome }) => outcome === 'imported' || outcome === 'imported_without').length;
}

/** A controller that imports the objects of one service. */
export function objectImportController(contract: ObjectImportRpc): Type {
  @Controller()
  class ObjectImportController {
    constructor(private readonly imports: ObjectImports) {}

    @RpcHandler(contract.objects)
    importObjects(request: RpcData<ObjectImportRpc['objects']>): Promise<RpcReply<ObjectImportRpc['objects']>> {
      return this.imports.import(request);
    }
  }
  return ObjectImportController;
}
