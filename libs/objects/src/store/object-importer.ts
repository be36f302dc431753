import { Controller, type Type } from '@nestjs/common';
import type {
  ClassName,
  ImportedObject,
  ImportObjectsReply,
  ImportObjectsRequest,
  ObjectImportRpc,
  RpcData,
  RpcReply,
} from '#contracts';
import { type Database, type Tx, violatedUniqueConstraint } from '#database';
import { appError } from '#errors';
import { RpcHandler } from '#messaging';
import type { ObjectRow } from '../class-definition.js';
import { claimsOf } from '../import-claims.js';
import { type EarlierState, type Judgement, judgeObjects, type KnownObject } from './import-judgement.js';
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
  /** Maximum number of objects in one transaction. */
  readonly partSize: number;
  readonly rules: ImportRules<Row>;
}

type Batch = Pick<ImportObjectsRequest, 'appId' | 'objects' | 'wrapPasswords' | 'earlier'>;

const MAX_TRIES = 4;
/** Objects of one transaction. With 500, logins beside the import took 1.9 times as long instead of 1.4 times. */
const PART_SIZE = 100;

/**
 * Imports the objects of one class in batches. A batch is judged row by row in the order of the export and written in parts, each in one
 * transaction. While a part is written, the next one is judged by the state that the former one will leave.
 * Unique constraints decide about concurrent sign-ups: a part that violates one is judged again, and then in halves.
 */
class ObjectImporter<Row extends ObjectRow> {
  constructor(private readonly parts: ImporterParts<Row>) {}

  /** @throws AppError SERVICE_UNAVAILABLE where concurrent writes keep taking a value that the batch needs */
  async import(request: ImportObjectsRequest): Promise<ImportObjectsReply> {
    if (request.isPreview) return (await this.#judge(request)).reply;
    const outcomes: Promise<PartOutcome>[] = [];
    let former: FormerPart | undefined;
    try {
      for (const part of partsOf(request, this.parts.partSize)) {
        const prepared = await this.#prepareAfter(former, part);
        former = { objects: part.objects, leaves: prepared.leaves, outcome: this.#write(part, prepared) };
        outcomes.push(former.outcome);
      }
      return joined((await Promise.all(outcomes)).map(({ reply }) => reply));
    } finally {
      // A part is still being written where the judgement of the next one fails.
      await Promise.allSettled(outcomes);
    }
  }

  /** Judges a part while the former one is written, and again where that one leaves another state. */
  async #prepareAfter(former: FormerPart | undefined, part: Batch): Promise<Prepared<Row>> {
    if (former === undefined) return this.#prepare(part);
    const early = sharesObjects(part, former) ? undefined : await this.#prepare(part, former.leaves);
    const { isAsJudged } = await former.outcome;
    return early !== undefined && isAsJudged ? early : this.#prepare(part);
  }

  async #write(batch: Batch, prepared: Prepared<Row>): Promise<PartOutcome> {
    if (await this.#store(batch.appId, prepared)) return { reply: prepared.reply, isAsJudged: true };
    const reply = batch.objects.length > 1 ? await this.#writeHalves(batch) : await this.#writeAgain(batch);
    return { reply, isAsJudged: false };
  }

  /** Values that move between objects of one batch can violate a constraint until all rows are written. */
  async #writeHalves(batch: Batch): Promise<ImportObjectsReply> {
    const middle = Math.ceil(batch.objects.length / 2);
    const replies: ImportObjectsReply[] = [];
    for (const objects of [batch.objects.slice(0, middle), batch.objects.slice(middle)]) {
      const half = { ...batch, objects };
      replies.push((await this.#write(half, await this.#prepare(half))).reply);
    }
    return joined(replies);
  }

  async #writeAgain(batch: Batch): Promise<ImportObjectsReply> {
    for (let tries = 1; tries < MAX_TRIES; tries += 1) {
      const prepared = await this.#prepare(batch);
      if (await this.#store(batch.appId, prepared)) return prepared.reply;
    }
    throw appError('SERVICE_UNAVAILABLE');
  }

  async #prepare(batch: Batch, earlier?: EarlierState): Promise<Prepared<Row>> {
    const judged = await this.#judge({ ...batch, ...(earlier === undefined ? {} : { earlier }) });
    const { wrapPasswords } = batch;
    const rows = await this.parts.rules.prepare(judged.accepted, { wrapPasswords });
    return { ...judged, rows };
  }

  /** @returns false where a concurrent write has taken a value, or changed a row, since the judgement */
  async #store(appId: string, { accepted, rows }: Prepared<Row>): Promise<boolean> {
    if (accepted.length === 0) return true;
    try {
      await this.parts.database.transaction(async (tx) => {
        await this.#assertUnchanged(tx, appId, accepted);
        await this.#storeRows(tx, appId, accepted, rows);
      });
      return true;
    } catch (error) {
      if (error instanceof OutdatedJudgement || violatedUniqueConstraint(error) !== undefined) return false;
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

  async #storeRows(tx: Tx, appId: string, accepted: readonly ImportedRow<Row>[], rows: readonly Row[]): Promise<void> {
    const isNew = (_: Row, index: number) => accepted[index]?.current === undefined;
    const { objects, rules } = this.parts;
    const replaced = rows.filter((row, index) => !isNew(row, index));
    await objects.updateMany(tx, appId, replaced);
    await objects.insertMany(tx, appId, rows.filter(isNew));
    await rules.storeParts?.(tx, appId, { rows, replaced });
  }

  async #judge({ appId, objects, earlier }: Batch): Promise<Judgement<Row>> {
    const { className, database, rules, limitBytes } = this.parts;
    const claims = objects.flatMap((object) => claimsOf(className, object));
    const [stored, owners] = await Promise.all([
      this.parts.objects.findEach(database, appId, idsOf(objects)),
      rules.owners(database, appId, claims),
    ]);
    const held = stored.flatMap((row) => rules.claimsOf(row).map(({ key }) => [key, row.objectId] as const));
    const known = new Map<string, KnownObject<Row>>(
      stored.map((row) => [row.objectId, { createdAt: row.createdAt, changedAt: rules.changedAt(row), current: row }]),
    );
    for (const { objectId, createdAt, updatedAt } of earlier?.objects ?? []) {
      const times = { createdAt: new Date(createdAt), changedAt: new Date(updatedAt) };
      known.set(objectId, { ...known.get(objectId), ...times });
    }
    const all = new Map([...held, ...owners, ...Object.entries(earlier?.owners ?? {})]);
    return judgeObjects(objects, { className, limitBytes, owners: all, known });
  }
}

/** A row has changed between the judgement and the transaction. */
class OutdatedJudgement extends Error {}

/** A judgement with the rows to write. */
interface Prepared<Row> extends Judgement<Row> {
  readonly rows: readonly Row[];
}

interface PartOutcome {
  readonly reply: ImportObjectsReply;
  /** The part left the state by which the next one was judged. */
  readonly isAsJudged: boolean;
}

/** The part that is being written. */
interface FormerPart {
  readonly objects: readonly ImportedObject[];
  readonly leaves: EarlierState;
  readonly outcome: Promise<PartOutcome>;
}

function partsOf(batch: Batch, size: number): Batch[] {
  const count = Math.ceil(batch.objects.length / size);
  return Array.from({ length: count }, (_, index) => ({
    ...batch,
    objects: batch.objects.slice(index * size, (index + 1) * size),
  }));
}

function joined(replies: readonly ImportObjectsReply[]): ImportObjectsReply {
  return {
    verdicts: replies.flatMap(({ verdicts }) => verdicts),
    released: replies.flatMap(({ released }) => released),
  };
}

function idsOf(objects: readonly ImportedObject[]): string[] {
  return [...new Set(objects.map(({ objectId }) => objectId))];
}

/** Then the later part needs the rows that the former one stores. */
function sharesObjects(part: Batch, former: FormerPart): boolean {
  const ids = new Set(idsOf(former.objects));
  return part.objects.some(({ objectId }) => ids.has(objectId));
}

/** The importers of a service's classes. */
export class ObjectImports {
  private readonly statistics: ImportStatistics;

  constructor(
    private readonly classes: StoredClasses,
    private readonly database: Database,
    private readonly limitBytes: number,
    private readonly partSize = PART_SIZE,
  ) {
    this.statistics = new ImportStatistics(database);
  }

  /** @throws AppError NOT_FOUND for a class that this service does not store; as `ObjectImporter.import` */
  async import(request: ImportObjectsRequest): Promise<ImportObjectsReply> {
    const { className } = request;
    const { objects, imports } = this.classes.of(className);
    const { database, limitBytes, partSize } = this;
    const rules = imports ?? plainImport(className, objects);
    importHeap.touch();
    const reply = await new ObjectImporter({ className, objects, database, limitBytes, partSize, rules }).import(
      request,
    );
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
