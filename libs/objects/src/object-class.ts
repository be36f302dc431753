import { isObjectId, type JsonObject, type JsonValue } from '#contracts';
import { type AppError, appError } from '#errors';
import {
  type ClassDefinition,
  type FieldDefinition,
  type FieldDefinitions,
  incorrect,
  type NewObject,
  type ObjectChanges,
  type ObjectRow,
  type ObjectView,
  plain,
} from './class-definition.js';
import {
  changedRoots,
  type FieldChange,
  isDelete,
  parseChanges,
  type RelationChange,
  rootOf,
} from './operations/change.js';
import type { QueryClass, QueryColumn } from './query/query.js';
import { changedFields, isAbsent, readOnlyKey } from './stored-object.js';
import { type Acl, isJsonObject, parseAcl } from './values.js';

const COMMON_COLUMNS: readonly [string, QueryColumn][] = [
  ['objectId', { sql: 'object_id', type: 'text', isUnique: true }],
  ['createdAt', { sql: 'created_at', type: 'date' }],
  ['updatedAt', { sql: 'updated_at', type: 'date' }],
];
const OWNER = '_owner';
const NO_OWNER = `Invalid ACL. '${OWNER}' stands for the creator in settings of classes only: name the user's objectId.`;
const READ_ONLY = ['objectId', 'createdAt', 'updatedAt', 'className'];
/** SDKs send them for hooks of the cloud engine, of which none run here, and, that for Java, as names of objects in batches. */
const IGNORED_KEYS: readonly string[] = ['__ignore_hooks', '__internalId'];

export class ObjectClass<Fields extends FieldDefinitions = FieldDefinitions, Row extends ObjectRow = ObjectRow> {
  readonly #readOnly: ReadonlySet<string>;
  readonly #presented: readonly PresentedField[];
  readonly #queryClasses: Readonly<Record<'open' | 'withoutContact', QueryClass>>;

  constructor(readonly definition: ClassDefinition<Fields>) {
    const entries = Object.entries<FieldDefinition>(definition.fields);
    const unset = entries.filter(([, { parse }]) => parse === undefined).map(([name]) => name);
    this.#readOnly = new Set([...READ_ONLY, ...(definition.reserved ?? []), ...unset]);
    this.#presented = entries.flatMap(([name, { present, isContact = false }]) =>
      present === 'hidden' ? [] : [{ name, present, isContact }],
    );
    this.#queryClasses = { open: this.#queryClass(false), withoutContact: this.#queryClass(true) };
  }

  get name(): string {
    return this.definition.name;
  }

  /** Custom fields and relations are parsed last. @throws AppError of the first invalid field */
  parse(fields: JsonObject, isMaster: boolean): ObjectChanges<Fields> {
    const draft: Record<string, unknown> = {};
    const others: [string, JsonValue][] = [];
    for (const [key, value] of Object.entries(fields)) {
      const field = this.#field(key);
      if (IGNORED_KEYS.includes(key) || this.#isOwnName(key, value)) continue;
      if (key === 'ACL') draft['acl'] = this.#parseAcl(value);
      else if (field?.parse === undefined) others.push([key, value]);
      else Object.assign(draft, parsedColumn(key, field, value, isMaster));
    }
    return { ...draft, ...this.#parseOthers(others) } as ObjectChanges<Fields>;
  }

  parseNew({ objectId, ...rest }: JsonObject, isMaster: boolean): NewObject<Fields> {
    const isFoundById = this.definition.isFoundById === true;
    const fields = isFoundById || objectId === undefined ? rest : { objectId, ...rest };
    const changes = this.parse(fields, isMaster);
    this.#assertComplete(fields);
    return { ...(isFoundById ? namedId(objectId) : {}), changes };
  }

  /** The public JSON of an object. An allow-list: columns that the definition does not present never leave the service. */
  present(row: Row, view: ObjectView): JsonObject {
    const shown: JsonObject = { ...row.fields, objectId: row.objectId };
    if (view.sessionToken !== undefined) shown['sessionToken'] = view.sessionToken;
    this.#presentFields(shown, row, view);
    for (const [name, { className }] of Object.entries(this.definition.relations ?? {}))
      shown[name] = { __type: 'Relation', className };
    if (row.acl !== null && (view.viewer !== 'other' || view.returnAcl === true)) shown['ACL'] = row.acl;
    shown['createdAt'] = row.createdAt.toISOString();
    shown['updatedAt'] = row.updatedAt.toISOString();
    return shown;
  }

  blankColumns(): Readonly<Record<string, JsonValue>> {
    const entries = Object.entries<FieldDefinition>(this.definition.fields);
    return Object.fromEntries(entries.map(([name, { initial = null }]) => [name, initial]));
  }

  uniqueValuesOf(changes: object): string[] {
    const unique = Object.entries<FieldDefinition>(this.definition.fields).filter(([, field]) => field.takenError);
    return unique.flatMap(([name]) => {
      const value = stored(changes, name);
      return typeof value === 'string' ? [`${this.name}.${name} ${value}`] : [];
    });
  }

  uniqueViolation(constraint: string): AppError | undefined {
    const table = this.definition.table.split('.').at(-1);
    for (const [name, { takenError }] of Object.entries<FieldDefinition>(this.definition.fields))
      if (takenError !== undefined && constraint === `${table}_${columnName(name)}_key`) return appError(takenError);
    return undefined;
  }

  /** The fields that queries may name. With `hideContact` hidden contact data cannot be queried either, or guessed part by part. */
  queryClass({ hideContact = false }: { readonly hideContact?: boolean } = {}): QueryClass {
    return this.#queryClasses[hideContact ? 'withoutContact' : 'open'];
  }

  #queryClass(hideContact: boolean): QueryClass {
    const entries = Object.entries<FieldDefinition>(this.definition.fields);
    const columns = entries.flatMap(([name, { query, mayBeContact = false }]): [string, QueryColumn][] =>
      query === undefined
        ? []
        : [[name, { ...query, sql: columnName(name), isWholeOnly: hideContact && mayBeContact }]],
    );
    const unqueried = entries.filter(([, { query, isContact }]) => query === undefined || (hideContact && isContact));
    const relations = Object.entries(this.definition.relations ?? {});
    return {
      className: this.name,
      table: this.definition.table,
      columns: new Map([...COMMON_COLUMNS, ...columns]),
      relations: new Map(relations.map(([name, relation]) => [name, { ...relation, appColumn: 'app_id' }])),
      hidden: new Set(['ACL', ...(this.definition.reserved ?? []), ...unqueried.map(([name]) => name)]),
      appColumn: 'app_id',
      idColumn: 'object_id',
      jsonColumn: 'fields',
      aclColumn: 'acl',
      defaultOrderColumn: 'created_at',
    };
  }

  createReply(row: Row, returnNew: boolean): JsonObject {
    if (returnNew) return this.present(row, { viewer: 'owner' });
    return { objectId: row.objectId, createdAt: row.createdAt.toISOString() };
  }

  /** The answer to the request that changed the object. @param isShown whether it contains the changed fields too */
  changeReply(row: Row, fields: JsonObject, isShown: boolean): JsonObject {
    if (!isShown) return { objectId: row.objectId, updatedAt: row.updatedAt.toISOString() };
    return changedFields(this.present(row, { viewer: 'owner' }), changedRoots(fields));
  }

  #presentFields(shown: JsonObject, row: Row, view: ObjectView): void {
    const isContactHidden = view.viewer === 'other' && view.hideContact === true;
    for (const { name, present, isContact } of this.#presented) {
      if (isContact && isContactHidden) continue;
      const value = present === undefined ? stored(row, name) : present(row as never, view);
      if (value !== undefined) shown[name] = value;
    }
  }

  #assertComplete(fields: JsonObject): void {
    for (const [name, { missingError }] of Object.entries<FieldDefinition>(this.definition.fields))
      if (missingError !== undefined && !Object.hasOwn(fields, name)) throw appError(missingError);
    const { missingAclError } = this.definition;
    if (missingAclError !== undefined && fields['ACL'] === undefined) throw appError(missingAclError);
  }

  /** Swift SDKs before 17.3.2 send type and class of an installation among its fields. */
  #isOwnName(key: string, value: JsonValue): boolean {
    return (key === '__type' && value === 'Object') || (key === 'className' && value === this.name);
  }

  #field(name: string): FieldDefinition | undefined {
    return Object.hasOwn(this.definition.fields, name) ? this.definition.fields[name] : undefined;
  }

  #parseAcl(value: JsonValue): Acl | null {
    const { missingAclError } = this.definition;
    if (isJsonObject(value) && Object.hasOwn(value, OWNER)) throw appError('INVALID_ACL', { message: NO_OWNER });
    if (missingAclError !== undefined && value === null) throw appError(missingAclError);
    if (missingAclError !== undefined) return parseAcl(value);
    return value === null || isDelete(value) ? null : parseAcl(plain('ACL', value));
  }

  #parseOthers(fields: readonly [string, JsonValue][]): Pick<ObjectChanges, 'custom' | 'members'> {
    for (const [key] of fields) this.#assertCustom(rootOf(key));
    const asked = fields.filter(([key, value]) => !(this.#isRelation(key) && isPlaceholder(value)));
    const { values, relations } = parseChanges(asked);
    return {
      custom: values.map((change) => this.#parseCustom(change)),
      ...(relations.length === 0 ? {} : { members: relations.map((change) => this.#parseMembers(change)) }),
    };
  }

  /** A key such as `ACL.x` names a part of a built-in field. */
  #assertCustom(name: string): void {
    if (this.#readOnly.has(name)) throw readOnlyKey(name);
    const field = this.#field(name);
    if (field === undefined && name !== 'ACL') return;
    const message = `${name} can only be changed as a whole.`;
    throw appError(field?.partError ?? 'INVALID_KEY_NAME', field?.partError === undefined ? { message } : {});
  }

  #parseCustom(change: FieldChange): FieldChange {
    const [name] = change.path;
    if (this.#isRelation(name)) throw incorrect(name, 'A relation takes AddRelation and RemoveRelation only.');
    const { formats = {} } = this.definition;
    return Object.hasOwn(formats, name) ? (formats[name]?.parse(change) ?? change) : change;
  }

  #parseMembers(change: RelationChange): RelationChange {
    const { field, objects } = change;
    const relation = this.#isRelation(field) ? this.definition.relations?.[field] : undefined;
    if (relation === undefined) throw incorrect(field, `The class ${this.name} has no such relation.`);
    if (objects.some(({ className }) => className !== relation.className))
      throw appError('INVALID_RELATION', { message: `${field} holds objects of ${relation.className}.` });
    return change;
  }

  #isRelation(name: string): boolean {
    return Object.hasOwn(this.definition.relations ?? {}, name);
  }
}

export function newRow<Row extends ObjectRow>(
  objectClass: ObjectClass<FieldDefinitions, Row>,
  objectId: string,
  now: Date,
): Row {
  const row: ObjectRow = {
    ...objectClass.blankColumns(),
    objectId,
    acl: null,
    fields: {},
    createdAt: now,
    updatedAt: now,
  };
  return row as Row;
}

interface PresentedField {
  readonly name: string;
  readonly present: Exclude<FieldDefinition['present'], 'hidden'>;
  readonly isContact: boolean;
}

function parsedColumn(key: string, field: FieldDefinition, value: JsonValue, isMaster: boolean): object {
  if (field.isForMaster === true && !isMaster) throw readOnlyKey(key);
  const parsed = field.isRemovable === true && isNothing(value) ? null : field.parse?.(value);
  return parsed === undefined ? {} : { [key]: parsed };
}

function namedId(objectId: JsonValue | undefined): { objectId?: string } {
  if (objectId === undefined || isNothing(objectId)) return {};
  if (typeof objectId !== 'string' || !isObjectId(objectId)) throw readOnlyKey('objectId');
  return { objectId };
}

/** A class by its definition. The types of the parsed changes follow from the parsers of the fields. */
export function defineClass<Row extends ObjectRow>() {
  return <const Fields extends FieldDefinitions>(definition: ClassDefinition<Fields>): ObjectClass<Fields, Row> =>
    new ObjectClass<Fields, Row>(definition);
}

function stored(row: object, name: string): JsonValue | undefined {
  const value = (row as Readonly<Record<string, JsonValue | undefined>>)[name];
  return value ?? undefined;
}

/** The SQL name of a field: `mobile_phone_number` for `mobilePhoneNumber`. */
function columnName(field: string): string {
  return field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function isNothing(value: JsonValue): boolean {
  return isAbsent(value) || isDelete(value);
}

/** The value that SDKs send for an unchanged relation. */
function isPlaceholder(value: JsonValue): boolean {
  return isJsonObject(value) && value['__type'] === 'Relation';
}
