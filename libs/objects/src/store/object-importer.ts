import { chunksOf } from '#bootstrap';
import type { ClassName, ImportedObject, ImportObjectsReply, ImportObjectsRequest } from '#contracts';
import { type Database, type Statement, type Tx, violatedUniqueConstraint } from '#database';
import { appError } from '#errors';
import type { ObjectRow } from '../class-definition.js';
import { claimsOf, heldKeys } from '../import-claims.js';
import {
  type EarlierState,
  type ImportedRow,
  type ImportRules,
  type ImportDecisions,
  decideImports,
  type KnownObject,
} from './import-decisions.js';
import type { ObjectRepository } from './object.repository.js';

interface ImporterParts<Row extends ObjectRow> {
  readonly className: ClassName;
  readonly objects: ObjectRepository<Row>;
  readonly database: Database;
  readonly limitBytes: number;
  readonly partSize: number;
  readonly rules: ImportRules<Row>;
}

interface Batch extends Pick<ImportObjectsRequest, 'appId' | 'objects' | 'wrapPasswords'> {
  readonly earlier?: EarlierState | undefined;
}

const MAX_TRIES = 4;

/** Decides about rows in the order of the export and writes them in parts (ADR 33). A part that violates a constraint is decided again, then in halves. */
export class ObjectImporter<Row extends ObjectRow> {
  #hasFoundStored = false;
  #expectsNew: boolean;

  constructor(
    private readonly parts: ImporterParts<Row>,
    { isPreview, wrapPasswords }: Pick<ImportObjectsRequest, 'isPreview' | 'wrapPasswords'>,
    expectsNew: boolean,
  ) {
    // Hashes of passwords are too much work for decisions that may be refuted.
    this.#expectsNew = expectsNew && !isPreview && !wrapPasswords && parts.rules.hasConstraints === true;
  }

  get hasFoundStored(): boolean {
    return this.#hasFoundStored;
  }

  /** @throws AppError SERVICE_UNAVAILABLE where concurrent writes keep taking a value that the batch needs */
  async import({ earlier, ...request }: ImportObjectsRequest): Promise<ImportObjectsReply> {
    if (request.isPreview) return (await this.#decide({ ...request, earlier: stateOf(earlier) })).reply;
    const outcomes: Promise<PartOutcome>[] = [];
    let former: FormerPart | undefined;
    try {
      for (const part of partsOf(request, this.parts.partSize)) {
        const prepared = await this.#prepareAfter(former, part);
        former = this.#begin(part, prepared);
        outcomes.push(former.outcome);
      }
      return joined((await Promise.all(outcomes)).map(({ reply }) => reply));
    } finally {
      // A part is still being written where the decisions about the next one fail.
      await Promise.allSettled(outcomes);
    }
  }

  #begin(part: Batch, prepared: Prepared<Row>): FormerPart {
    let onSent = (): void => undefined;
    const sent = new Promise<void>((resolve) => (onSent = resolve));
    const outcome = this.#write(part, prepared, onSent).finally(onSent);
    return { objects: part.objects, stateAfter: prepared.stateAfter, outcome, sent };
  }

  /** Decides about a part while the former one is written, and again where that one ends in another state. */
  async #prepareAfter(former: FormerPart | undefined, part: Batch): Promise<Prepared<Row>> {
    if (former === undefined) return this.#prepare(part);
    // The decisions take milliseconds in which no statement would be sent.
    await former.sent;
    const early = sharesObjects(part, former) ? undefined : await this.#prepare(part, former.stateAfter);
    const { matchesPrediction } = await former.outcome;
    return early !== undefined && matchesPrediction ? early : this.#prepare(part);
  }

  async #write(batch: Batch, prepared: Prepared<Row>, onSent?: () => void): Promise<PartOutcome> {
    if (await this.#store(batch.appId, prepared, onSent)) return { reply: prepared.reply, matchesPrediction: true };
    if (prepared.isExpectedNew) {
      this.#expectsNew = false;
      return { ...(await this.#write(batch, await this.#prepare(batch))), matchesPrediction: false };
    }
    const reply = batch.objects.length > 1 ? await this.#writeHalves(batch) : await this.#writeAgain(batch);
    return { reply, matchesPrediction: false };
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
    const { wrapPasswords } = batch;
    const expected = this.#expectsNew ? this.#decideBy({ ...batch, earlier }, NOTHING_STORED) : undefined;
    const isExpectedNew = expected !== undefined && storesEach(expected, batch);
    const decided = isExpectedNew ? expected : await this.#decide({ ...batch, earlier });
    const rows = await this.parts.rules.prepare(decided.accepted, { wrapPasswords });
    const isStored = (_: Row, index: number) => decided.accepted[index]?.current !== undefined;
    const replaced = rows.filter(isStored);
    const created = rows.filter((row, index) => !isStored(row, index));
    // The database would wait for a text that the transaction makes.
    const insertion = created.length === 0 ? undefined : this.parts.objects.insertionOfMany(batch.appId, created);
    return { ...decided, rows, replaced, insertion, isExpectedNew };
  }

  /** @returns false where a concurrent write has taken a value, or changed a row, since the decisions */
  async #store(appId: string, prepared: Prepared<Row>, onSent?: () => void): Promise<boolean> {
    if (prepared.accepted.length === 0) return true;
    try {
      await this.parts.database.repeatable(async (tx) => {
        await this.#assertUnchanged(tx, appId, prepared.accepted);
        await this.#storeRows(tx, appId, prepared, onSent);
      });
      return true;
    } catch (error) {
      if (error instanceof StaleDecisions || violatedUniqueConstraint(error) !== undefined) return false;
      throw error;
    }
  }

  /** Locks the rows that the batch replaces, in one order. @throws StaleDecisions where one has changed since it was read */
  async #assertUnchanged(tx: Tx, appId: string, accepted: readonly ImportedRow<Row>[]): Promise<void> {
    const read = accepted.flatMap(({ current }) => current ?? []);
    if (read.length === 0) return;
    const ids = read.map(({ objectId }) => objectId);
    // An import may change unique values.
    await this.parts.objects.lockMany(
      tx,
      appId,
      read.map(({ objectId }) => ({ objectId, rowLock: 'UPDATE' })),
    );
    const locked = new Map((await this.parts.objects.findEach(tx, appId, ids)).map((row) => [row.objectId, row]));
    const isSame = read.every(
      ({ objectId, updatedAt }) => locked.get(objectId)?.updatedAt.getTime() === updatedAt.getTime(),
    );
    if (!isSame) throw new StaleDecisions();
  }

  async #storeRows(
    tx: Tx,
    appId: string,
    { rows, replaced, insertion }: Prepared<Row>,
    onSent?: () => void,
  ): Promise<void> {
    const { objects, rules } = this.parts;
    await objects.updateMany(tx, appId, replaced);
    const inserting = insertion === undefined ? [] : tx.run(insertion);
    if (onSent !== undefined) setImmediate(onSent);
    if ((await inserting).length < rows.length - replaced.length) throw new StaleDecisions();
    const hasStored = await rules.storeParts?.(tx, appId, { rows, replaced });
    if (hasStored === false) throw new StaleDecisions();
  }

  async #decide(batch: Batch): Promise<ImportDecisions<Row>> {
    const { className, database, rules } = this.parts;
    const { appId, objects } = batch;
    const claims = objects.flatMap((object) => claimsOf(className, object));
    const [stored, owners] = await Promise.all([
      this.parts.objects.findEach(database, appId, idsOf(objects)),
      rules.owners(database, appId, claims),
    ]);
    this.#hasFoundStored ||= stored.length > 0 || owners.length > 0;
    return this.#decideBy(batch, { stored, owners });
  }

  #decideBy({ objects, earlier }: Batch, { stored, owners }: StoredState<Row>): ImportDecisions<Row> {
    const { className, rules, limitBytes } = this.parts;
    const held = stored.flatMap((row) =>
      heldKeys(row.objectId, rules.claimsOf(row)).map((key) => [key, row.objectId] as const),
    );
    const known = new Map<string, KnownObject<Row>>(
      stored.map((row) => [
        row.objectId,
        {
          createdAt: row.createdAt,
          changedAt: rules.changedAt(row),
          current: row,
          lacks: rules.lacks?.(row) ?? [],
        },
      ]),
    );
    for (const { objectId, createdAt, updatedAt, lacks = [] } of earlier?.objects ?? []) {
      const stored = known.get(objectId);
      // An earlier row of the preview may lack its creation.
      const times = { createdAt: stored?.createdAt ?? new Date(createdAt), changedAt: new Date(updatedAt) };
      known.set(objectId, { ...stored, ...times, lacks });
    }
    const all = new Map([...held, ...owners, ...(earlier?.owners ?? [])]);
    return decideImports(objects, { className, limitBytes, owners: all, known });
  }
}

/** A row has changed, or a new one has been stored, between the decisions and the transaction. */
class StaleDecisions extends Error {}

interface StoredState<Row> {
  readonly stored: readonly Row[];
  readonly owners: Iterable<readonly [string, string]>;
}

const NOTHING_STORED: StoredState<never> = { stored: [], owners: [] };

/** Whether each row of the batch is a new object with all of its values: a stored object or value would violate a constraint. */
function storesEach({ accepted, reply }: ImportDecisions<unknown>, { objects }: Batch): boolean {
  return accepted.length === objects.length && reply.verdicts.every(({ outcome }) => outcome === 'imported');
}

interface Prepared<Row> extends ImportDecisions<Row> {
  readonly rows: readonly Row[];
  readonly replaced: readonly Row[];
  readonly insertion: Statement | undefined;
  /** No look-up has shown that the objects and values are new. */
  readonly isExpectedNew: boolean;
}

interface PartOutcome {
  readonly reply: ImportObjectsReply;
  /** The part ended in the state that the decisions about the next one assume. */
  readonly matchesPrediction: boolean;
}

interface FormerPart {
  readonly objects: readonly ImportedObject[];
  readonly stateAfter: EarlierState;
  readonly outcome: Promise<PartOutcome>;
  /** Resolves once its rows are on their way to the database, or with the outcome. */
  readonly sent: Promise<void>;
}

function stateOf(earlier: ImportObjectsRequest['earlier']): EarlierState | undefined {
  return earlier === undefined ? undefined : { ...earlier, owners: Object.entries(earlier.owners) };
}

function partsOf(batch: Batch, size: number): Batch[] {
  return chunksOf(batch.objects, size).map((objects) => ({ ...batch, objects }));
}

function joined(replies: readonly ImportObjectsReply[]): ImportObjectsReply {
  return {
    verdicts: replies.flatMap(({ verdicts }) => verdicts),
    released: replies.flatMap(({ released }) => released),
    isDone: true,
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
