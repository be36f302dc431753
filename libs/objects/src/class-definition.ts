import type { z } from 'zod';
import type { JsonObject, JsonValue } from '#contracts';
import { type AppError, appError, type ErrorName } from '#errors';
import { type FieldChange, isOperation, type RelationChange } from './operations/change.js';
import type { QueryColumn, QueryRelation } from './query/query.js';
import type { Acl } from './values.js';

/** A field with a column of its own. The row has a member of the same name. */
export interface FieldDefinition {
  readonly schema: z.ZodType;
  /** Parses a value to be stored. Absent: requests cannot set the field. @throws AppError of an invalid value */
  readonly parse?: (value: JsonValue) => unknown;
  readonly isRemovable?: true;
  /** A new object needs the field; the error of a request without it. */
  readonly missingError?: ErrorName;
  readonly initial?: JsonValue;
  readonly isImmutable?: true;
  /** The column has a unique constraint per application, and this is the error of a value that another object has. */
  readonly takenError?: ErrorName;
  readonly isForMaster?: true;
  /** The error for a part of the field (`ACL.x`). Default: INVALID_KEY_NAME. */
  readonly partError?: ErrorName;
  readonly query?: Omit<QueryColumn, 'sql'>;
  /** The value in responses. Absent: the stored value, if there is one. `hidden`: never in a response. */
  readonly present?: 'hidden' | ((row: never, view: ObjectView) => JsonValue | undefined);
  /** Contact data: the setting `hideContact` removes it from the view of other users. */
  readonly isContact?: true;
  /** Some values are contact data: with `hideContact` queries compare the field with whole values only. */
  readonly mayBeContact?: true;
}

interface RelationDefinition extends Omit<QueryRelation, 'appColumn'> {
  readonly description: string;
}

/** A class of objects: its fields, their parsers, the columns of queries, and the JSON that callers see. */
export interface ClassDefinition<Fields extends FieldDefinitions = FieldDefinitions> {
  readonly name: string;
  readonly table: string;
  readonly description: string;
  readonly fields: Fields;
  readonly relations?: Readonly<Record<string, RelationDefinition>>;
  /** Each object needs an ACL; the error of a request that omits or removes it. */
  readonly missingAclError?: ErrorName;
  /** Its objects are the users that send requests: each one is the owner of itself. */
  readonly isPrincipal?: true;
  /** A request for a new object may name an existing one by its id: the Swift SDK never sends PUT for an installation. */
  readonly isFoundById?: true;
  /** Further names that requests cannot set and queries cannot name. */
  readonly reserved?: readonly string[];
  /** Custom fields with a format of their own, by name, with their schema. */
  readonly formats?: Readonly<Record<string, FieldFormat>>;
}

interface FieldFormat {
  readonly schema: z.ZodType;
  readonly responseSchema: z.ZodType;
  readonly parse: (change: FieldChange) => FieldChange;
  /** Of an exported value with invalid parts, the valid ones, and what is left out. Undefined: the whole value is parsed. */
  readonly salvage?: (value: JsonValue) => { readonly value: JsonValue; readonly reason: string } | undefined;
}

export type FieldDefinitions = Readonly<Record<string, FieldDefinition>>;

type ParsedFields<Fields extends FieldDefinitions> = {
  readonly [Name in keyof Fields as Fields[Name] extends { parse: unknown } ? Name : never]?: ParsedField<Fields[Name]>;
};
type ParsedField<Field> = Field extends { parse: (value: JsonValue) => infer Value }
  ? Value | (Field extends { isRemovable: true } ? null : never)
  : never;

/** The requested changes of an object: valid in themselves, not yet compared with the stored object. Absent members do not change. */
export type ObjectChanges<Fields extends FieldDefinitions = FieldDefinitions> = ParsedFields<Fields> & {
  readonly acl?: Acl | null;
  readonly custom: readonly FieldChange[];
  readonly members?: readonly RelationChange[];
};

export interface NewObject<Fields extends FieldDefinitions> {
  readonly objectId?: string;
  readonly changes: ObjectChanges<Fields>;
}

export interface ObjectView {
  /** The object itself is the caller, or has just been written by it; the master key; or another caller. */
  readonly viewer: 'owner' | 'master' | 'other';
  /** Only in responses that return a token (specification, User, sessionToken). */
  readonly sessionToken?: string;
  readonly hideContact?: boolean;
  /** Show the ACL to other callers as well (`returnACL=true`). */
  readonly returnAcl?: boolean;
}

export interface ObjectRow {
  readonly objectId: string;
  readonly acl: Acl | null;
  readonly fields: JsonObject;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** The value of a field that supports no operations besides Delete. @throws AppError INCORRECT_TYPE */
export function plain(key: string, value: JsonValue): JsonValue {
  if (isOperation(value)) throw incorrect(key, 'The operation cannot be used on this field.');
  return value;
}

export function parseFlag(key: string, value: JsonValue): boolean {
  if (typeof value !== 'boolean') throw incorrect(key, 'The value must be true or false.');
  return value;
}

export function incorrect(key: string, message: string): AppError {
  return appError('INCORRECT_TYPE', { message: `${key}: ${message}` });
}
