import {
  type ClassName,
  COMPLETED_FIELDS,
  type CompletedField,
  type ImportedObject,
  type ImportNote,
  type ImportObjectsReply,
  type ImportObjectsRequest,
  type ImportVerdict,
  TAKEN,
} from '#contracts';
import type { Queryable, Tx } from '#database';
import type { ObjectRow } from '../class-definition.js';
import {
  claimsOf,
  emptyCopy,
  heldKeys,
  type ImportClaim,
  isLinkedField,
  isTokenClaim,
  keysOf,
  linkedField,
  platformKey,
  requiredField,
  withFields,
  withoutClaim,
} from '../import-claims.js';
import { storedBytes } from '../stored-object.js';
import type { ObjectRepository } from './object.repository.js';

export interface EarlierState {
  /** The owner by claim; null: it would be free. */
  readonly owners: readonly (readonly [string, string | null])[];
  readonly objects: NonNullable<ImportObjectsRequest['earlier']>['objects'];
}

/** The verdicts about a batch. `accepted` are the rows to write, `stateAfter` is the state after they are written. */
export interface ImportDecisions<Row> {
  readonly accepted: readonly ImportedRow<Row>[];
  readonly reply: ImportObjectsReply;
  readonly stateAfter: EarlierState;
}

export interface KnownObject<Row> {
  readonly createdAt: Date;
  readonly changedAt: Date;
  readonly current?: Row;
  readonly lacks: readonly CompletedField[];
}

export interface DecisionInput<Row> {
  readonly className: ClassName;
  readonly limitBytes: number;
  readonly owners: Map<string, string | null>;
  readonly known: Map<string, KnownObject<Row>>;
}

interface DecisionState<Row> extends DecisionInput<Row> {
  readonly accepted: Map<string, ImportedRow<Row>>;
  readonly released: Set<string>;
}

/** Decides about the objects one by one, in the order of the export (ADR 33). */
export function decideImports<Row>(
  objects: readonly ImportedObject[],
  input: DecisionInput<Row>,
): ImportDecisions<Row> {
  const state: DecisionState<Row> = { ...input, accepted: new Map(), released: new Set() };
  const verdicts = objects.map((object) => decide(object, state));
  const accepted = [...state.accepted.values()];
  return {
    accepted,
    stateAfter: stateAfter(accepted, state),
    reply: { verdicts, released: [...state.released], isDone: true },
  };
}

function stateAfter<Row>(
  accepted: readonly ImportedRow<Row>[],
  { className, released }: DecisionState<Row>,
): EarlierState {
  const taken = accepted.flatMap(({ object }) =>
    keysOf(className, object).map((key) => [key, object.objectId] as const),
  );
  return { owners: [...[...released].map((key) => [key, null] as const), ...taken], objects: [] };
}

function decide<Row>(object: ImportedObject, state: DecisionState<Row>): ImportVerdict {
  const known = state.known.get(object.objectId);
  if (known !== undefined && object.isCreationUnknown === true)
    return decide({ ...object, isCreationUnknown: undefined, createdAt: known.createdAt.toISOString() }, state);
  const settled = known === undefined ? undefined : compared(object, known, state);
  if (settled !== undefined) return settled;
  if (storedBytes(object.fields) > state.limitBytes)
    return refused({ field: 'fields', reason: `are larger than ${state.limitBytes} bytes together` });
  const taken = claimsOf(state.className, object).flatMap(({ field, key }) => takenBy(object, state, { field, key }));
  const required = taken.find(({ field }) => field === requiredField(state.className));
  if (required !== undefined) return refused(required);
  const stored = taken.reduce((kept, { field }) => withoutClaim(kept, field), object);
  const [first] = taken;
  if (first !== undefined && claimsOf(state.className, stored).length === 0) return refused(first);
  const lacks = accept(stored, state);
  return { outcome: taken.length === 0 ? 'imported' : 'imported_without', notes: taken, lacks };
}

/** The verdict about an object whose id is known, unless it replaces the known one. */
function compared<Row>(
  object: ImportedObject,
  known: KnownObject<Row>,
  state: DecisionState<Row>,
): ImportVerdict | undefined {
  const isAnother = state.className !== '_Installation' && known.createdAt.getTime() !== Date.parse(object.createdAt);
  if (isAnother) return refused({ field: 'objectId', reason: 'belongs to another object', by: object.objectId });
  const difference = Date.parse(object.updatedAt) - known.changedAt.getTime();
  if (difference > 0) return undefined;
  return difference === 0 ? complete(object, known, state) : { outcome: 'kept_newer', notes: [] };
}

/** Adds the fields that the known object of the same version lacks, where their values are free. Nothing else changes. */
function complete<Row>(object: ImportedObject, known: KnownObject<Row>, state: DecisionState<Row>): ImportVerdict {
  const { objectId } = object;
  const { accepted } = state;
  const lacking = claimsOf(state.className, object).filter((claim) => isLacking(claim, objectId, { known, state }));
  const free = new Map(
    lacking.filter((claim) => takenBy(object, state, claim).length === 0).map((claim) => [claim.field, claim]),
  );
  const added = known.lacks.filter((field) => (field === 'password' ? object.password !== undefined : free.has(field)));
  const linked = object.identities?.filter(({ platform }) => free.has(linkedField(platform))) ?? [];
  if (added.length + linked.length === 0)
    return { outcome: 'unchanged', notes: lacking.flatMap((claim) => takenBy(object, state, claim)) };
  const before = accepted.get(objectId) ?? { object: emptyCopy(object), current: known.current, isAddition: true };
  const lacks = known.lacks.filter((field) => !added.includes(field));
  const completed = withFields(before.object, { ...object, identities: linked }, added);
  accepted.set(objectId, { ...before, object: completed, lacks });
  if (added.includes('sessionToken')) release(objectId, isTokenClaim, state);
  take(objectId, heldKeys(objectId, [...free.values()]), state);
  state.known.set(objectId, { ...known, lacks });
  return { outcome: 'imported', notes: notesOfOthers(object, state), lacks };
}

/** Whether the object has no value of this field, or one of an earlier version. */
function isLacking<Row>(
  { field }: ImportClaim,
  objectId: string,
  { known, state }: { readonly known: KnownObject<Row>; readonly state: DecisionState<Row> },
): boolean {
  if (isLinkedField(field)) return state.owners.get(platformKey(objectId, field)) !== objectId;
  return known.lacks.some((name) => name === field);
}

/** The values of the row that the object does not have. */
function notesOfOthers<Row>(object: ImportedObject, state: DecisionState<Row>): ImportNote[] {
  const others = claimsOf(state.className, object).filter(({ key }) => state.owners.get(key) !== object.objectId);
  return others.map((claim) => {
    const [taken] = takenBy(object, state, claim);
    return taken ?? { field: claim.field, reason: 'differs from the object of the same updatedAt' };
  });
}

function refused(note: ImportNote): ImportVerdict {
  return { outcome: 'refused', notes: [note] };
}

function takenBy<Row>({ objectId }: ImportedObject, { owners }: DecisionState<Row>, claim: ImportClaim): ImportNote[] {
  const owner = owners.get(claim.key) ?? objectId;
  return owner === objectId ? [] : [{ field: claim.field, reason: TAKEN, by: owner }];
}

function accept<Row>(object: ImportedObject, state: DecisionState<Row>): CompletedField[] {
  const { objectId } = object;
  const claims = new Set(keysOf(state.className, object));
  const keepsToken = object.sessionToken === undefined;
  const isFreed = (key: string) => !claims.has(key) && !(keepsToken && isTokenClaim(key));
  if (state.known.has(objectId)) release(objectId, isFreed, state);
  take(objectId, claims, state);
  const before = state.accepted.get(objectId);
  const { current } = state.known.get(objectId) ?? {};
  // The last version is written last, so that values that move between objects are free by then.
  state.accepted.delete(objectId);
  const lacks = state.className === '_User' ? lackedBy(object) : [];
  state.accepted.set(objectId, { object: completed(object, before?.object), current, lacks });
  state.known.set(objectId, {
    createdAt: new Date(object.createdAt),
    changedAt: new Date(object.updatedAt),
    lacks,
    ...(current === undefined ? {} : { current }),
  });
  return lacks;
}

/** A version without a password or a session token keeps those of the version before, until a copy of the same version has its own. */
function lackedBy(object: ImportedObject): CompletedField[] {
  const { email = null, mobilePhoneNumber = null } = object.columns;
  return COMPLETED_FIELDS.filter((field) => {
    if (field === 'email') return email === null;
    if (field === 'mobilePhoneNumber') return mobilePhoneNumber === null;
    return object[field] === undefined;
  });
}

function release<Row>(
  objectId: string,
  isFreed: (key: string) => boolean,
  { owners, released }: DecisionState<Row>,
): void {
  for (const [key, owner] of owners) {
    if (owner !== objectId || !isFreed(key)) continue;
    owners.set(key, null);
    released.add(key);
  }
}

function take<Row>(objectId: string, keys: Iterable<string>, { owners, released }: DecisionState<Row>): void {
  for (const key of keys) {
    owners.set(key, objectId);
    released.delete(key);
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

export interface ImportedRow<Row> {
  readonly object: ImportedObject;
  readonly current: Row | undefined;
  /** The object holds only the fields to add to `current`, which has the same version. */
  readonly isAddition?: boolean;
  /** The fields that no copy of this version has had. */
  readonly lacks: readonly CompletedField[];
}

/** How a class stores imported objects. `plainImport` serves classes without rules of their own. */
export interface ImportRules<Row extends ObjectRow> {
  /** Each claim of a class is under a unique constraint: a part can be written without a look-up. */
  readonly hasConstraints?: boolean;
  owners(
    within: Queryable,
    appId: string,
    claims: readonly ImportClaim[],
  ): Promise<readonly (readonly [string, string])[]>;
  claimsOf(row: Row): readonly ImportClaim[];
  /** When the row was last changed. A login is no change. */
  changedAt(row: Row): Date;
  /** The fields that an import of the same version adds to the row. Absent: none. */
  lacks?(row: Row): CompletedField[];
  /** The work that needs no transaction, such as hashing. @returns the row to store */
  prepare(rows: readonly ImportedRow<Row>[], options: { readonly wrapPasswords: boolean }): Promise<Row[]>;
  /** Stores what is outside of the rows. `replaced` are those of them that were stored before. @returns false where a value was taken */
  storeParts?(
    tx: Tx,
    appId: string,
    written: { readonly rows: readonly Row[]; readonly replaced: readonly Row[] },
  ): Promise<boolean>;
  readonly tables?: readonly string[];
}

/** The rules of a class that its definition describes: columns with unique constraints, and no parts outside of the row. */
export function plainImport<Row extends ObjectRow>(
  className: ClassName,
  objects: ObjectRepository<Row>,
): ImportRules<Row> {
  return {
    owners: (within, appId, claims) => objects.ownersOf(within, appId, claims),
    claimsOf: (row) => claimsOf(className, { columns: objects.columnsOf(row) }),
    changedAt: ({ updatedAt }) => updatedAt,
    prepare: (rows) => Promise.resolve(rows.map(({ object }) => objects.importedRow(object))),
  };
}
