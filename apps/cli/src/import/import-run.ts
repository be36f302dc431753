import { setTimeout as sleep } from 'node:timers/promises';
import {
  accountsImportRpc,
  type ClassName,
  type ImportedObject,
  type ImportNote,
  type ImportObjectsReply,
  type ImportVerdict,
  pushImportRpc,
  type RpcContract,
  type RpcReply,
} from '#contracts';
import { AppError } from '#errors';
import type { RpcClient } from '#messaging';
import { claimsOf, parseImportedRow, withoutClaim } from '#objects';
import { SilentServiceError } from '../operator-connection.js';
import { ClaimIndex } from './claim-index.js';
import { ClaimTable } from './claim-table.js';
import type { Export, ExportPart, ExportRow } from '../export/export.types.js';
import type { ImportSummary, RowPlace } from './import-summary.js';

/** The service writes a batch in parts and judges one while it writes another. */
const BATCH_SIZE = 500;
/** The state that earlier batches would have left travels with each batch. */
const PREVIEW_BATCH_SIZE = 100;
/** Hashing takes 60 ms a password: a batch must not occupy the hashing threads for long. */
const WRAPPING_BATCH_SIZE = 20;
const MEMBER_BATCH_SIZE = 5_000;
const RETRIES = 8;
const FIRST_PAUSE_MS = 250;
const MAX_PAUSE_MS = 10_000;

export interface ImportOptions {
  readonly appId: string;
  readonly isPreview: boolean;
  readonly wrapPasswords: boolean;
}

interface PendingRow {
  readonly place: RowPlace;
  readonly object: ImportedObject;
  readonly notes: readonly ImportNote[];
}

/** A row that no service needs to see. It waits for its turn in the report. */
interface RefusedRow {
  readonly place: RowPlace;
  readonly refused: ImportNote;
}

/** A member of a role, as a file names it: by ids, or by the names of role and user. */
export interface MemberRow {
  readonly place: RowPlace;
  readonly role: string;
  readonly member: string;
}

/** Sends the rows of an export in batches and counts the verdicts. Rows are parsed while the service works on the batch before. */
export class ImportRun {
  readonly #indexes = new Map<ClassName, ClaimIndex>();
  /** Members that a preview would have added. */
  readonly #members = new ClaimTable();
  #stopped = false;

  constructor(
    private readonly rpc: RpcClient,
    private readonly options: ImportOptions,
    private readonly summary: ImportSummary,
  ) {}

  /** Ends the run before the next batch. */
  stop(): void {
    this.#stopped = true;
  }

  get isStopped(): boolean {
    return this.#stopped;
  }

  /** @throws AppError, SilentServiceError where the service stays unavailable */
  async importObjects(className: ClassName, rows: AsyncIterable<ExportRow>): Promise<void> {
    await this.#inBatches(this.#parsed(className, rows), this.#batchSize, (batch) =>
      this.#sendObjects(className, batch),
    );
  }

  /** @throws as `importObjects` */
  async importMembers(field: 'users' | 'roles', rows: AsyncIterable<MemberRow>): Promise<void> {
    await this.#inBatches(rows, MEMBER_BATCH_SIZE, (batch) => this.#sendMembers(field, batch));
  }

  get #batchSize(): number {
    const { isPreview, wrapPasswords } = this.options;
    if (isPreview) return PREVIEW_BATCH_SIZE;
    return wrapPasswords ? WRAPPING_BATCH_SIZE : BATCH_SIZE;
  }

  /** One batch is on its way while the next one is read. */
  async #inBatches<T>(rows: AsyncIterable<T>, size: number, send: (batch: T[]) => Promise<void>): Promise<void> {
    let sent: Promise<void> = Promise.resolve();
    try {
      for await (const batch of this.#untilStopped(batchesOf(rows, size))) {
        await sent;
        sent = send(batch);
        // The failure is thrown where the batch is awaited.
        sent.catch(() => undefined);
      }
    } finally {
      await sent;
    }
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

  async #sendObjects(className: ClassName, batch: readonly (PendingRow | RefusedRow)[]): Promise<void> {
    const pending = batch.filter((row) => 'object' in row);
    const verdicts = await this.#judge(className, pending);
    const verdictOf = new Map(pending.map((row, index) => [row.place, verdicts[index]]));
    for (const row of batch) {
      const verdict = verdictOf.get(row.place);
      if ('refused' in row) await this.summary.refuse(row.place, row.refused);
      else if (verdict !== undefined) await this.summary.add(row.place, withNotes(verdict, row.notes));
    }
  }

  async #judge(className: ClassName, batch: readonly PendingRow[]): Promise<readonly ImportVerdict[]> {
    if (batch.length === 0) return [];
    const objects = batch.map(({ object }) => object);
    const { appId, isPreview, wrapPasswords } = this.options;
    const contract = className === '_Installation' ? pushImportRpc.objects : accountsImportRpc.objects;
    const claims = isPreview ? objects.flatMap((object) => keysOf(className, object)) : [];
    const earlier = isPreview ? { earlier: this.#index(className).earlier(objects, claims) } : {};
    try {
      const reply = await this.#call(contract, { appId, className, objects, isPreview, wrapPasswords, ...earlier });
      if (isPreview) this.#remember(className, batch, reply);
      return reply.verdicts;
    } catch (error) {
      if (!(error instanceof AppError && error.is('OBJECT_TOO_LARGE')) || batch.length === 1) throw error;
      return this.#judgeHalves(className, batch);
    }
  }

  /** The objects of a batch can be larger together than a message may be. The second half is judged by what the first one leaves. */
  async #judgeHalves(className: ClassName, batch: readonly PendingRow[]): Promise<readonly ImportVerdict[]> {
    const middle = Math.ceil(batch.length / 2);
    const first = await this.#judge(className, batch.slice(0, middle));
    return [...first, ...(await this.#judge(className, batch.slice(middle)))];
  }

  #remember(className: ClassName, batch: readonly PendingRow[], { verdicts, released }: ImportObjectsReply): void {
    const stored = batch.flatMap(({ object }, index) => {
      const { outcome = 'refused', notes = [] } = verdicts[index] ?? {};
      if (outcome !== 'imported' && outcome !== 'imported_without') return [];
      const kept = notes.reduce((one, { field }) => withoutClaim(one, field), object);
      return [{ object: kept, claims: keysOf(className, kept) }];
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
    const { unknown, known } = await this.#call(accountsImportRpc.members, { appId, field, members, isPreview });
    const unchanged = new Set([...known, ...this.#repeated(field, batch)]);
    const missing = new Map(unknown.map((each) => [each.index, each]));
    for (const [index, row] of batch.entries()) {
      const note = this.#missingMember(field, row, missing.get(index));
      if (note !== undefined) await this.summary.refuse(row.place, note);
      else await this.summary.add(row.place, { outcome: unchanged.has(index) ? 'unchanged' : 'imported', notes: [] });
    }
  }

  /** The positions of members that earlier rows of a preview have added: the service knows only those that are stored. */
  #repeated(field: 'users' | 'roles', batch: readonly MemberRow[]): number[] {
    if (!this.options.isPreview) return [];
    return batch.flatMap(({ role, member }, index) => {
      const isNew = this.#members.add(`${field} ${role} ${member}`);
      return isNew ? [] : [index];
    });
  }

  /** The reason to refuse a member: role or object neither exist nor would exist after the earlier batches of the preview. */
  #missingMember(
    field: 'users' | 'roles',
    { role, member }: MemberRow,
    found: { readonly hasRole: boolean; readonly hasMember: boolean } = { hasRole: true, hasMember: true },
  ): ImportNote | undefined {
    const [className, name] = field === 'users' ? (['_User', 'username'] as const) : (['_Role', 'name'] as const);
    if (!found.hasRole && !isNamed(this.#index('_Role'), 'name', role))
      return { field: 'owningId', reason: 'names no role' };
    if (!found.hasMember && !isNamed(this.#index(className), name, member))
      return { field: 'relatedId', reason: `names no ${field === 'users' ? 'user' : 'role'}` };
    return undefined;
  }

  /** Repeats a request while the service is unavailable: batches are idempotent. */
  async #call<C extends RpcContract>(contract: C, data: Parameters<typeof this.rpc.call<C>>[1]): Promise<RpcReply<C>> {
    for (let tries = 0; tries < RETRIES && !this.#stopped; tries += 1) {
      const outcome = await this.#attempt(contract, data);
      if (outcome !== undefined) return outcome;
      await sleep(Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** tries));
    }
    return this.rpc.call(contract, data);
  }

  /** @returns undefined where the service is unavailable */
  async #attempt<C extends RpcContract>(
    contract: C,
    data: Parameters<typeof this.rpc.call<C>>[1],
  ): Promise<RpcReply<C> | undefined> {
    try {
      return await this.rpc.call(contract, data);
    } catch (error) {
      if (isTemporary(error)) return undefined;
      throw error;
    }
  }
}

/** All rows of the parts, in their order. */
export function rowsOf(source: Export, isWanted: (part: ExportPart) => boolean): AsyncIterable<ExportRow> {
  return source.rowsOf(source.parts.filter(isWanted));
}

async function* batchesOf<T>(rows: AsyncIterable<T>, size: number): AsyncIterable<T[]> {
  let batch: T[] = [];
  for await (const row of rows) {
    if (batch.push(row) < size) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

function pendingRow(className: ClassName, row: ExportRow): PendingRow | RefusedRow {
  const place = { file: row.file, line: row.line, className };
  if ('problem' in row) return { place, refused: { field: '', reason: row.problem } };
  const parsed = parseImportedRow(className, row.row);
  return 'refused' in parsed
    ? { place: { ...place, objectId: parsed.objectId }, refused: parsed.refused }
    : { place: { ...place, objectId: parsed.object.objectId }, ...parsed };
}

function keysOf(className: ClassName, object: ImportedObject): string[] {
  return claimsOf(className, object).map(({ key }) => key);
}

function withNotes({ outcome, notes }: ImportVerdict, own: readonly ImportNote[]): ImportVerdict {
  if (own.length === 0 || (outcome !== 'imported' && outcome !== 'imported_without')) return { outcome, notes };
  return { outcome: 'imported_without', notes: [...own, ...notes] };
}

function isTemporary(error: unknown): boolean {
  return error instanceof SilentServiceError || (error instanceof AppError && error.is('SERVICE_UNAVAILABLE'));
}

function isNamed(index: ClaimIndex, field: string, text: string): boolean {
  return index.has(text) || typeof index.owner(`${field} ${text}`) === 'string';
}
