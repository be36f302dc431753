import {
  accountsImportRpc,
  type ClassName,
  type ImportedObject,
  type ImportNote,
  type ImportObjectsReply,
  type ImportVerdict,
} from '#contracts';
import { isAppError } from '#errors';
import type { RpcClient } from '#messaging';
import { keysOf, parseImportedRow, withoutClaim } from '#objects';
import type { Export, ExportPart, ExportRow } from '../export/export.types.js';
import { ClaimIndex, ClaimTable } from './claim-index.js';
import { batchesOf, type BatchOrder, importOf, ImportRequests, inBatches } from './import-requests.js';
import type { ImportSummary, RowPlace } from './import-summary.js';
import { isTaken, type OlderRow, settled, type TakenRow, WaitingRows, withNotes } from './waiting-rows.js';

/** The service writes a batch in parts and decides about one while it writes another. */
const BATCH_SIZE = 500;
/** The state that earlier batches would have left travels with each batch. */
const PREVIEW_BATCH_SIZE = 100;
/** Hashing takes 60 ms a password: a batch must not occupy the hashing threads for long. */
const WRAPPING_BATCH_SIZE = 20;
const MEMBER_BATCH_SIZE = 5_000;
/** Values can move along a chain of objects. */
const MAX_REPETITIONS = 10;
const TOO_LARGE: ImportVerdict = {
  outcome: 'refused',
  notes: [{ field: '', reason: 'The row is too large for a message. Shorten it in the export.' }],
};

const MEMBERS = { users: ['_User', 'username'], roles: ['_Role', 'name'] } as const;

export interface ImportOptions {
  readonly appId: string;
  readonly isPreview: boolean;
  readonly wrapPasswords: boolean;
}

interface PendingRow {
  readonly place: RowPlace;
  readonly object: ImportedObject;
  readonly notes: readonly ImportNote[];
  readonly verdict?: ImportVerdict;
}

/** A row that no service needs to see; it waits for its turn in the report. */
interface RefusedRow {
  readonly place: RowPlace;
  readonly refused: ImportNote;
}

export interface MemberRow {
  readonly place: RowPlace;
  readonly role: string;
  readonly member: string;
}

/** Sends the rows of an export in batches and counts the verdicts; parses and sends while the service works on the batch before. */
export class ImportRun {
  readonly #indexes = new Map<ClassName, ClaimIndex>();
  readonly #members = new ClaimTable();
  readonly #requests: ImportRequests;
  #older = new WaitingRows<OlderRow>();
  #stopped = false;

  constructor(
    rpc: RpcClient,
    private readonly options: ImportOptions,
    private readonly summary: ImportSummary,
  ) {
    this.#requests = new ImportRequests(rpc, () => this.#stopped);
  }

  stop(): void {
    this.#stopped = true;
  }

  get isStopped(): boolean {
    return this.#stopped;
  }

  /** Sends rows whose value is taken once more at the end: a later row may give it up. @throws AppError, SilentServiceError */
  async importObjects(className: ClassName, rows: AsyncIterable<ExportRow>): Promise<void> {
    let waiting = new WaitingRows<TakenRow>();
    this.#older = new WaitingRows();
    try {
      const batches = batchesOf(this.#parsed(className, rows), this.#batchSize);
      await this.#sendAll(className, this.#untilStopped(batches), waiting);
      for (let times = 0; waiting.hasStored && !this.#stopped && times < MAX_REPETITIONS; times += 1) {
        const former = waiting;
        waiting = new WaitingRows();
        await this.#sendAll(className, batchesOf(former.drained(), this.#batchSize), waiting);
      }
    } finally {
      for await (const row of waiting.drained()) await this.#conclude(row);
      for await (const row of this.#older.drained()) await this.#concludeOlder(className, row);
    }
  }

  async importMembers(field: 'users' | 'roles', rows: AsyncIterable<MemberRow>): Promise<void> {
    await inBatches(this.#untilStopped(batchesOf(rows, MEMBER_BATCH_SIZE)), async (batch, { former }) => {
      await former?.done;
      await this.#sendMembers(field, batch);
    });
  }

  get #batchSize(): number {
    const { isPreview, wrapPasswords } = this.options;
    if (isPreview) return PREVIEW_BATCH_SIZE;
    return wrapPasswords ? WRAPPING_BATCH_SIZE : BATCH_SIZE;
  }

  async *#untilStopped<T>(batches: AsyncIterable<T>): AsyncIterable<T> {
    for await (const batch of batches) {
      if (this.#stopped) return;
      yield batch;
    }
  }

  async *#parsed(className: ClassName, rows: AsyncIterable<ExportRow>): AsyncIterable<PendingRow | RefusedRow> {
    for await (const row of rows) {
      const pending = pendingRow(className, row);
      if ('object' in pending) this.summary.notice(className, pending.object);
      yield pending;
    }
  }

  async #sendAll(
    className: ClassName,
    batches: AsyncIterable<(PendingRow | RefusedRow)[]>,
    waiting: WaitingRows<TakenRow>,
  ): Promise<void> {
    await inBatches(batches, (batch, order) => this.#sendObjects(className, batch, { order, waiting }));
  }

  async #sendObjects(
    className: ClassName,
    batch: readonly (PendingRow | RefusedRow)[],
    { order, waiting }: { readonly order: BatchOrder; readonly waiting: WaitingRows<TakenRow> },
  ): Promise<void> {
    const pending = batch.filter((row) => 'object' in row);
    const verdicts = await this.#verdictsOf(className, pending, order);
    await order.former?.done;
    const verdictOf = new Map(pending.map((row, index) => [row.place, verdicts[index]]));
    for (const row of batch) {
      const verdict = verdictOf.get(row.place);
      if ('refused' in row) await this.summary.refuse(row.place, row.refused);
      else if (verdict !== undefined) await this.#settle(row, verdict, waiting);
    }
  }

  async #settle(row: PendingRow, verdict: ImportVerdict, waiting: WaitingRows<TakenRow>): Promise<void> {
    waiting.hasStored ||= verdict.outcome.startsWith('imported');
    const settledRow = { ...row, verdict: settled(verdict, row.verdict) };
    const { updatedAt } = row.object;
    if (settledRow.verdict.outcome === 'kept_newer' && (await this.#older.add({ place: row.place, updatedAt }))) return;
    if (isTaken(settledRow.verdict)) {
      if (await waiting.add(settledRow)) return;
      this.summary.warn(
        `${row.place.className}: many rows have values that are taken. Run the same command again: some may be free now.`,
      );
    }
    await this.#conclude(settledRow);
  }

  /** A copy that a newer one of the export has replaced is no loss: nothing has changed here. */
  #concludeOlder(className: ClassName, { place, updatedAt }: OlderRow): Promise<void> {
    const isReplaced = this.summary.exported[className].hasNewer(place.objectId ?? '', updatedAt);
    return this.summary.add(place, { outcome: isReplaced ? 'unchanged' : 'kept_newer', notes: [] });
  }

  #conclude({ place, verdict, notes }: PendingRow & { readonly verdict: ImportVerdict }): Promise<void> {
    return this.summary.add(place, withNotes(verdict, notes));
  }

  async #verdictsOf(
    className: ClassName,
    batch: readonly PendingRow[],
    order: BatchOrder,
  ): Promise<readonly ImportVerdict[]> {
    if (batch.length === 0) return [];
    try {
      if (!this.options.isPreview) return (await this.#requests.store(this.#request(className, batch), order)).verdicts;
      await order.former?.done;
      return await this.#preview(className, batch);
    } catch (error) {
      if (!isAppError(error, 'OBJECT_TOO_LARGE')) throw error;
      return batch.length === 1 ? [TOO_LARGE] : this.#verdictsOfHalves(className, batch, order);
    }
  }

  async #preview(className: ClassName, batch: readonly PendingRow[]): Promise<readonly ImportVerdict[]> {
    const objects = batch.map(({ object }) => object);
    const claims = objects.flatMap((object) => keysOf(className, object));
    const earlier = this.#index(className).earlier(objects, claims);
    const reply = await this.#requests.call(importOf(className), { ...this.#request(className, batch), earlier });
    this.#remember(className, batch, reply);
    return reply.verdicts;
  }

  #request(className: ClassName, batch: readonly PendingRow[]) {
    return { ...this.options, className, objects: batch.map(({ object }) => object) };
  }

  /** A batch can exceed the size of a message. The second half is decided by what the first one leaves. */
  async #verdictsOfHalves(
    className: ClassName,
    batch: readonly PendingRow[],
    { id, former }: BatchOrder,
  ): Promise<readonly ImportVerdict[]> {
    const middle = Math.ceil(batch.length / 2);
    const first = await this.#verdictsOf(className, batch.slice(0, middle), { former });
    return [...first, ...(await this.#verdictsOf(className, batch.slice(middle), { id }))];
  }

  #remember(className: ClassName, batch: readonly PendingRow[], { verdicts, released }: ImportObjectsReply): void {
    const stored = batch.flatMap(({ object }, index) => {
      const { outcome = 'refused', notes = [], lacks } = verdicts[index] ?? {};
      if (outcome !== 'imported' && outcome !== 'imported_without') return [];
      const kept = notes.reduce((one, { field }) => withoutClaim(one, field), object);
      return [{ object: kept, claims: keysOf(className, kept), lacks }];
    });
    this.#index(className).store(stored, released);
  }

  #index(className: ClassName): ClaimIndex {
    const index = this.#indexes.get(className) ?? new ClaimIndex();
    this.#indexes.set(className, index);
    return index;
  }

  async #sendMembers(field: 'users' | 'roles', batch: readonly MemberRow[]): Promise<void> {
    const { appId, isPreview } = this.options;
    const members = batch.map(({ role, member }) => ({ role, member }));
    const { unknown, known } = await this.#requests.call(accountsImportRpc.importMembers, {
      appId,
      field,
      members,
      isPreview,
    });
    const unchanged = new Set([...known, ...this.#repeated(field, batch)]);
    const missing = new Map(unknown.map((each) => [each.index, each]));
    for (const [index, row] of batch.entries()) {
      const note = this.#missingMember(field, row, missing.get(index));
      if (note !== undefined) await this.summary.refuse(row.place, note);
      else await this.summary.add(row.place, { outcome: unchanged.has(index) ? 'unchanged' : 'imported', notes: [] });
    }
  }

  /** Positions of members that earlier rows of a preview have added: the service knows only stored ones. */
  #repeated(field: 'users' | 'roles', batch: readonly MemberRow[]): number[] {
    if (!this.options.isPreview) return [];
    const [className, name] = MEMBERS[field];
    return batch.flatMap((row, index) => {
      // One row can name by ids what another names by names.
      const role = idOf(this.#index('_Role'), 'name', row.role) ?? row.role;
      const member = idOf(this.#index(className), name, row.member) ?? row.member;
      return this.#members.add(`${field} ${role} ${member}`) ? [] : [index];
    });
  }

  /** Why a member is refused: role or object neither exist nor would exist after the earlier batches. */
  #missingMember(
    field: 'users' | 'roles',
    { role, member }: MemberRow,
    found: { readonly hasRole: boolean; readonly hasMember: boolean } = { hasRole: true, hasMember: true },
  ): ImportNote | undefined {
    const [className, name] = MEMBERS[field];
    if (!found.hasRole && idOf(this.#index('_Role'), 'name', role) === undefined)
      return { field: 'owningId', reason: 'names no role' };
    if (!found.hasMember && idOf(this.#index(className), name, member) === undefined)
      return { field: 'relatedId', reason: `names no ${field === 'users' ? 'user' : 'role'}` };
    return undefined;
  }
}

export function rowsOf(source: Export, isWanted: (part: ExportPart) => boolean): AsyncIterable<ExportRow> {
  return source.rowsOf(source.parts.filter(isWanted));
}

function pendingRow(className: ClassName, row: ExportRow): PendingRow | RefusedRow {
  const place = { file: row.file, line: row.line, className };
  if ('problem' in row) return { place, refused: { field: '', reason: row.problem } };
  const parsed = parseImportedRow(className, row.row);
  return 'refused' in parsed
    ? { place: { ...place, objectId: parsed.objectId }, refused: parsed.refused }
    : { place: { ...place, objectId: parsed.object.objectId }, ...parsed };
}

function idOf(index: ClaimIndex, field: string, text: string): string | undefined {
  return index.has(text) ? text : (index.owner(`${field} ${text}`) ?? undefined);
}
