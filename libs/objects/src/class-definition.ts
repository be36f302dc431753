import { z } from 'zod';
import { isObjectId, type JsonObject, type JsonValue } from '#contracts';
import { type AppError, appError, type ErrorName } from '#errors';
import { type Acl, parseAcl } from './access.js';
import { changedRoots, type FieldChange, type RelationChange } from './operations/change.js';
import { isDelete, isOperation, parseChanges } from './operations/parse-changes.js';
import type { QueryClass, QueryColumn, QueryRelation } from './query/query.js';
import { isAbsent, readOnlyKey } from './stored-object.js';
import { isJsonObject } from './values.js';

/** A field with a column of its own. The row has a member of the same name. */
export interface FieldDefinition {
  /** The value in JSON, for the API reference. Its description is shown there. */
  readonly schema: z.ZodType;
  /** Parses a value to be stored. Absent: requests cannot set the field. @throws AppError of an invalid value */
  readonly parse?: (value: JsonValue) => unknown;
  /** `null`, the empty text and the operation Delete remove the value. */
  readonly isRemovable?: true;
  /** A new object needs the field. */
  readonly isRequired?: true;
  /** The value of a new object that does not set the field. Default: null. */
  readonly initial?: JsonValue;
  /** A change cannot give the field another value. */
  readonly isImmutable?: true;
  /** The column has a unique constraint per application, and this is the error of a value that another object has. */
  readonly takenError?: ErrorName;
  /** Only the master key sets the field; for other callers it is read only. */
  readonly isForMaster?: true;
  /** The error for a part of the field (`ACL.x`). Default: INVALID_KEY_NAME. */
  readonly partError?: ErrorName;
  /** The column as queries use it. Absent: queries cannot name the field. */
  readonly query?: Omit<QueryColumn, 'sql'>;
  /** The value in responses. Absent: the stored value, if there is one. `hidden`: never in a response. */
  readonly present?: 'hidden' | ((row: never, view: ObjectView) => JsonValue | undefined);
  /** Contact data: the setting `hideContact` removes it from the view of other users. */
  readonly isContact?: true;
}

/** A relation, whose members are stored in a table of pairs. */
interface RelationDefinition extends Omit<QueryRelation, 'appColumn'> {
  readonly description: string;
}

/** A class of objects: its fields, their parsers, the columns of queries, and the JSON that callers see. */
export interface ClassDefinition<Fields extends FieldDefinitions = FieldDefinitions> {
  /** The name in the API, such as `_User`. */
  readonly name: string;
  /** The table with its schema, such as `accounts.users`. */
  readonly table: string;
  readonly description: string;
  readonly fields: Fields;
  readonly relations?: Readonly<Record<string, RelationDefinition>>;
  /** Each object needs an ACL. @throws AppError ROLE_ACL_REQUIRED where a request removes it */
  readonly isAclRequired?: true;
  /** Its objects are the users that send requests: each one is the owner of itself. */
  readonly isPrincipal?: true;
  /** Responses cannot contain the objects that Pointers refer to, because another service stores them. */
  readonly hasNoInclude?: true;
  /** A request for a new object may name its id: the Swift SDK never sends PUT for an installation. */
  readonly isIdChosen?: true;
  /** Further names that requests cannot set and queries cannot name. */
  readonly reserved?: readonly string[];
  /** Custom fields with a format of their own, by name, with their schema. */
  readonly formats?: Readonly<Record<string, FieldFormat>>;
}

/** The format of a custom field. */
interface FieldFormat {
  /** The value, or an operation on it, in a request. */
  readonly schema: z.ZodType;
  /** The value in a response. */
  readonly responseSchema: z.ZodType;
  readonly parse: (change: FieldChange) => FieldChange;
}

export type FieldDefinitions = Readonly<Record<string, FieldDefinition>>;

/** The values that a write sets, by field. */
type ParsedFields<Fields extends FieldDefinitions> = {
  readonly [Name in keyof Fields as Fields[Name] extends { parse: unknown } ? Name : never]?: ParsedField<Fields[Name]>;
};
type ParsedField<Field> = Field extends { parse: (value: JsonValue) => infer Value }
  ? Value | (Field extends { isRemovable: true } ? null : never)
  : never;

/** The requested changes of an object: valid in themselves, not yet compared with the stored object. Absent members do not change. */
export type ObjectChanges<Fields extends FieldDefinitions = FieldDefinitions> = ParsedFields<Fields> & {
  readonly acl?: Acl | null;
  /** Changes of custom fields. */
  readonly custom: readonly FieldChange[];
  /** Changes of relations, in the order of their execution. Absent: none. */
  readonly members?: readonly RelationChange[];
};

/** The parsed request for a new object. */
interface NewObject<Fields extends FieldDefinitions> {
  /** The id that the request has chosen. */
  readonly objectId?: string;
  readonly changes: ObjectChanges<Fields>;
}

/** What one caller sees of an object. */
export interface ObjectView {
  /** The object itself is the caller, or has just been written by it; the master key; or another caller. */
  readonly viewer: 'owner' | 'master' | 'other';
  /** Only in responses that return a token (specification, User, sessionToken). */
  readonly sessionToken?: string;
  readonly hideContact?: boolean;
  /** Show the ACL to other callers as well (`returnACL=true`). */
  readonly returnAcl?: boolean;
}

/** The members that each stored object has. */
export interface ObjectRow {
  readonly objectId: string;
  readonly acl: Acl | null;
  /** The custom fields. */
  readonly fields: JsonObject;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

const TIMESTAMP = z.iso.datetime({ precision: 3 });
export const objectIdSchema = z
  .string()
  .regex(/^[0-9A-Za-z_-]{1,64}$/)
  .describe('24 hexadecimal digits if Gatepost created the object; imported objects keep their ids.');
export const aclSchema = z
  .record(z.string(), z.object({ read: z.literal(true).optional(), write: z.literal(true).optional() }))
  .describe('Read and write access, by user id, `*` for all users, or `role:<name>`.');

/** The columns that each class has. */
const COMMON_COLUMNS: readonly [string, QueryColumn][] = [
  ['objectId', { sql: 'object_id', type: 'text', isUnique: true }],
  ['createdAt', { sql: 'created_at', type: 'date' }],
  ['updatedAt', { sql: 'updated_at', type: 'date' }],
];
const READ_ONLY = ['objectId', 'createdAt', 'updatedAt', 'className'];

/** A definition, with what follows from it. Made once, when the process starts. */
export class ObjectClass<Fields extends FieldDefinitions = FieldDefinitions, Row extends ObjectRow = ObjectRow> {
  readonly #readOnly: ReadonlySet<string>;
  readonly #presented: readonly PresentedField[];

  constructor(readonly definition: ClassDefinition<Fields>) {
    const entries = Object.entries<FieldDefinition>(definition.fields);
    const unset = entries.filter(([, { parse }]) => parse === undefined).map(([name]) => name);
    this.#readOnly = new Set([...READ_ONLY, ...(definition.reserved ?? []), ...unset]);
    this.#presented = entries.flatMap(([name, { present, isContact = false }]) =>
      present === 'hidden' ? [] : [{ name, present, isContact }],
    );
  }

  get name(): string {
    return this.definition.name;
  }

  /**
   * Parses the fields of a new object or of a change.
   * @throws AppError with the code of the first invalid field; custom fields and relations are parsed last
   */
  parse(fields: JsonObject, isMaster: boolean): ObjectChanges<Fields> {
    const draft: Record<string, unknown> = {};
    const others: [string, JsonValue][] = [];
    for (const [key, value] of Object.entries(fields)) {
      const field = this.#field(key);
      if (key === 'ACL') draft['acl'] = this.#parseAcl(value);
      else if (field?.parse === undefined) others.push([key, value]);
      else if (field.isForMaster === true && !isMaster) throw readOnlyKey(key);
      else {
        const parsed = field.isRemovable === true && isNothing(value) ? null : field.parse(value);
        if (parsed !== undefined) draft[key] = parsed;
      }
    }
    // The members of the draft have the types of their parsers.
    return { ...draft, ...this.#parseOthers(Object.fromEntries(others)) } as ObjectChanges<Fields>;
  }

  /**
   * Parses the fields of a new object.
   * @throws AppError as `parse`; ROLE_ACL_REQUIRED, or the error of a required field that is missing
   */
  parseNew({ objectId, ...rest }: JsonObject, isMaster: boolean): NewObject<Fields> {
    const isIdChosen = this.definition.isIdChosen === true;
    const fields = isIdChosen || objectId === undefined ? rest : { objectId, ...rest };
    const changes = this.parse(fields, isMaster);
    for (const [name, { isRequired, parse }] of Object.entries<FieldDefinition>(this.definition.fields))
      if (isRequired === true && !Object.hasOwn(fields, name)) parse?.(null);
    if (this.definition.isAclRequired === true && fields['ACL'] === undefined) throw appError('ROLE_ACL_REQUIRED');
    if (!isIdChosen || isNothing(objectId ?? null)) return { changes };
    if (typeof objectId !== 'string' || !isObjectId(objectId)) throw readOnlyKey('objectId');
    return { objectId, changes };
  }

  /** The public JSON of an object. An allow-list: columns that the definition does not present never leave the service. */
  present(row: Row, view: ObjectView): JsonObject {
    const shown: JsonObject = { ...row.fields, objectId: row.objectId };
    if (view.sessionToken !== undefined) shown['sessionToken'] = view.sessionToken;
    const isContactHidden = view.viewer === 'other' && view.hideContact === true;
    for (const { name, present, isContact } of this.#presented) {
      if (isContact && isContactHidden) continue;
      const value = present === undefined ? stored(row, name) : present(row as never, view);
      if (value !== undefined) shown[name] = value;
    }
    for (const [name, { className }] of Object.entries(this.definition.relations ?? {}))
      shown[name] = { __type: 'Relation', className };
    if (row.acl !== null && (view.viewer !== 'other' || view.returnAcl === true)) shown['ACL'] = row.acl;
    shown['createdAt'] = row.createdAt.toISOString();
    shown['updatedAt'] = row.updatedAt.toISOString();
    return shown;
  }

  /** The columns of a new object, before the values of a request are applied. */
  blankColumns(): Readonly<Record<string, JsonValue>> {
    const entries = Object.entries<FieldDefinition>(this.definition.fields);
    return Object.fromEntries(entries.map(([name, { initial = null }]) => [name, initial]));
  }

  /** The error of a violated constraint `<table>_<column>_key`. */
  uniqueViolation(constraint: string): AppError | undefined {
    const table = this.definition.table.split('.').at(-1);
    for (const [name, { takenError }] of Object.entries<FieldDefinition>(this.definition.fields))
      if (takenError !== undefined && constraint === `${table}_${columnName(name)}_key`) return appError(takenError);
    return undefined;
  }

  /** The fields that queries may name. With `hideContact` hidden contact data cannot be queried either. */
  queryClass({ hideContact = false }: { readonly hideContact?: boolean } = {}): QueryClass {
    const entries = Object.entries<FieldDefinition>(this.definition.fields);
    const columns = entries.flatMap(([name, { query }]): [string, QueryColumn][] =>
      query === undefined ? [] : [[name, { ...query, sql: columnName(name) }]],
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

  /** The JSON of an object in responses, for the API reference. */
  responseSchema(acl: z.ZodType = aclSchema): z.ZodObject {
    const fields = Object.entries<FieldDefinition>(this.definition.fields)
      .filter(([, { present }]) => present !== 'hidden')
      .map(([name, { schema }]) => [name, schema.optional()]);
    return z
      .looseObject({ objectId: objectIdSchema, createdAt: TIMESTAMP, updatedAt: TIMESTAMP })
      .extend({ ...Object.fromEntries(fields), ...this.#formatSchemas('responseSchema'), ACL: acl.optional() })
      .describe(`${this.definition.description} Any other member is a custom field.`);
  }

  /** The JSON of a request that changes an object, or of one that creates it, for the API reference. */
  requestSchema(kind: 'change' | 'create', acl: z.ZodType = aclSchema): z.ZodObject {
    const isNew = kind === 'create';
    const fields = Object.entries<FieldDefinition>(this.definition.fields)
      .filter(([, { parse, isForMaster }]) => parse !== undefined && isForMaster !== true)
      .map(([name, { schema, isRemovable, isRequired }]) => {
        const value = isRemovable === true ? schema.nullable() : schema;
        return [name, isNew && isRequired === true ? value : value.optional()] as const;
      });
    const relations = Object.entries(this.definition.relations ?? {}).map(
      ([name, { description }]) => [name, relationSchema(description).optional()] as const,
    );
    const isAclRequired = this.definition.isAclRequired === true;
    const wholeAcl = isAclRequired ? acl : acl.nullable();
    return z
      .looseObject({
        ...Object.fromEntries<z.ZodType>([...fields, ...relations]),
        ...this.#formatSchemas('schema'),
        ACL: isNew && isAclRequired ? wholeAcl : wholeAcl.optional(),
      })
      .describe('The fields; any other member is a custom field.');
  }

  #formatSchemas(kind: 'schema' | 'responseSchema'): Record<string, z.ZodType> {
    const formats = Object.entries(this.definition.formats ?? {});
    return Object.fromEntries(formats.map(([name, format]) => [name, format[kind].optional()]));
  }

  #field(name: string): FieldDefinition | undefined {
    return Object.hasOwn(this.definition.fields, name) ? this.definition.fields[name] : undefined;
  }

  #parseAcl(value: JsonValue): Acl | null {
    if (this.definition.isAclRequired === true) {
      if (value === null) throw appError('ROLE_ACL_REQUIRED');
      return parseAcl(value);
    }
    return value === null || isDelete(value) ? null : parseAcl(plain('ACL', value));
  }

  #parseOthers(fields: JsonObject): Pick<ObjectChanges, 'custom' | 'members'> {
    for (const root of changedRoots(fields)) this.#assertCustom(root);
    const asked = Object.entries(fields).filter(([key, value]) => !(this.#isRelation(key) && isPlaceholder(value)));
    const { values, relations } = parseChanges(Object.fromEntries(asked));
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

interface PresentedField {
  readonly name: string;
  readonly present: Exclude<FieldDefinition['present'], 'hidden'>;
  readonly isContact: boolean;
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

function relationSchema(description: string): z.ZodType {
  return z
    .looseObject({ __op: z.enum(['AddRelation', 'RemoveRelation', 'Batch']).optional() })
    .describe(
      `${description} \`{"__op":"AddRelation","objects":[<Pointer>, …]}\`, \`RemoveRelation\`, or \`Batch\` with both in \`ops\`.`,
    );
}

/** The SQL name of a field: `mobile_phone_number` for `mobilePhoneNumber`. */
function columnName(field: string): string {
  return field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** null, the empty string and the Delete operation all remove the value. */
function isNothing(value: JsonValue): boolean {
  return isAbsent(value) || isDelete(value);
}

/** The value that SDKs send for an unchanged relation. */
function isPlaceholder(value: JsonValue): boolean {
  return isJsonObject(value) && value['__type'] === 'Relation';
}

/** The value of a field that supports no operations besides Delete. @throws AppError INCORRECT_TYPE */
export function plain(key: string, value: JsonValue): JsonValue {
  if (isOperation(value)) throw incorrect(key, 'The operation cannot be used on this field.');
  return value;
}

/** A value that is true or false. @throws AppError INCORRECT_TYPE */
export function parseFlag(key: string, value: JsonValue): boolean {
  if (typeof value !== 'boolean') throw incorrect(key, 'The value must be true or false.');
  return value;
}

/** The error for a value that does not fit its field. */
export function incorrect(key: string, message: string): AppError {
  return appError('INCORRECT_TYPE', { message: `${key}: ${message}` });
}
