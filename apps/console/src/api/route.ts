import { z } from 'zod';
import type { Permission } from './shared.js';

/** `anyone`: also without a session. `self`: also without a second factor that the role needs. `operator`: any with a session. */
export type Access = 'anyone' | 'operator' | 'self' | Permission;

export type Method = 'DELETE' | 'GET' | 'PATCH' | 'POST' | 'PUT';

export interface ExportedFile {
  readonly name: string;
  readonly columns: readonly string[];
}

/** A route of the console's API. Page and server derive their types from it. */
export interface ConsoleRoute<
  Params extends z.ZodType = z.ZodType,
  Query extends z.ZodType = z.ZodType,
  Body extends z.ZodType = z.ZodType,
  Reply extends z.ZodType = z.ZodType,
> {
  readonly method: Method;
  /** Below `/api`, with parameters such as `:appId`, for which the operator needs the permission. */
  readonly path: string;
  readonly access: Access;
  /** Not audited. Default: true for GET. */
  readonly isRead: boolean;
  /** Requests within a second share one reply, which must not depend on the operator. */
  readonly isShared: boolean;
  /** Needs a proof of identity (`POST /proof`) within the last ten minutes; else PROOF_REQUIRED. */
  readonly needsProof: boolean;
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  /** Null: the reply is JSON. Else it is a file, and `reply` is one row. */
  readonly file: ExportedFile | null;
  /** Removes members that the schema does not name. */
  readonly reply: Reply;
}

export interface ExportRoute<
  Params extends z.ZodType = z.ZodType,
  Query extends z.ZodType = z.ZodType,
  Body extends z.ZodType = z.ZodType,
  Row extends z.ZodType = z.ZodType,
> extends ConsoleRoute<Params, Query, Body, Row> {
  readonly file: ExportedFile;
}

export function isExport(route: ConsoleRoute): route is ExportRoute {
  return route.file !== null;
}

export type RouteParams<R extends ConsoleRoute> = z.output<R['params']>;
export type RouteQuery<R extends ConsoleRoute> = z.output<R['query']>;
export type RouteBody<R extends ConsoleRoute> = z.output<R['body']>;
export type RouteReply<R extends ConsoleRoute> = z.output<R['reply']>;

export interface RouteInput<R extends ConsoleRoute> {
  readonly params: z.input<R['params']>;
  readonly query: z.input<R['query']>;
  readonly body: z.input<R['body']>;
}

const none = z.object({});
type None = typeof none;

interface RouteOptions<
  Params extends z.ZodType,
  Query extends z.ZodType,
  Body extends z.ZodType,
  Reply extends z.ZodType,
> {
  readonly method: Method;
  readonly path: string;
  readonly access: Access;
  readonly isRead?: boolean;
  readonly isShared?: boolean;
  readonly needsProof?: boolean;
  readonly params?: Params;
  readonly query?: Query;
  readonly body?: Body;
  readonly reply: Reply;
}

/** The page needs a name for each audited route. */
interface Audited<IsRead extends boolean> {
  readonly isRead: IsRead;
}

export function route<
  Reply extends z.ZodType,
  Params extends z.ZodType = None,
  Query extends z.ZodType = None,
  Body extends z.ZodType = None,
  M extends Method = Method,
  IsRead extends boolean = M extends 'GET' ? true : false,
>(
  options: RouteOptions<Params, Query, Body, Reply> & { readonly method: M } & Partial<Audited<IsRead>>,
): ConsoleRoute<Params, Query, Body, Reply> & Audited<IsRead> {
  const {
    method,
    isRead = (method === 'GET') as IsRead,
    isShared = false,
    needsProof = false,
    params,
    query,
    body,
  } = options;
  return {
    ...options,
    isRead,
    isShared,
    needsProof,
    file: null,
    params: params ?? (none as z.ZodType as Params),
    query: query ?? (none as z.ZodType as Query),
    body: body ?? (none as z.ZodType as Body),
  };
}

export const EXPORT_FORMATS = ['csv', 'jsonl'] as const;

export type ExportFormat = (typeof EXPORT_FORMATS)[number];

const format = z.enum(EXPORT_FORMATS);

interface ExportOptions<Filters extends z.ZodRawShape, Row extends z.ZodObject, Params extends z.ZodType> {
  readonly path: string;
  readonly access: Access;
  readonly params?: Params;
  readonly query: z.ZodObject<Filters>;
  readonly row: Row;
  readonly fileName: string;
}

/** An export is audited and needs a proof of identity: it can hold all personal data. */
export function exportRoute<Filters extends z.ZodRawShape, Row extends z.ZodObject, Params extends z.ZodType = None>(
  options: ExportOptions<Filters, Row, Params>,
): ExportRoute<Params, z.ZodObject<Filters & { readonly format: typeof format }>, None, Row> & Audited<false> {
  const { path, access, params, row, fileName } = options;
  const query = z.object({ ...options.query.shape, format });
  const given = { method: 'GET', path, access, isRead: false, needsProof: true, query, reply: row } as const;
  const file: ExportedFile = { name: fileName, columns: Object.keys(row.shape) };
  return { ...route({ ...given, ...(params === undefined ? {} : { params }) }), file };
}

/** A username has 255 characters, of up to six bytes as JSON; sealed and in base64url they are a third longer. */
const MAX_CURSOR_LENGTH = 2_560;

export const appId = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, 'must be 1 to 64 letters, digits, _ or -');
export const ofApp = z.object({ appId });
export const time = z.iso.datetime().regex(/^(?!0000)/, 'must be a time of the years 1 to 9999');
export const count = z.number().int().min(0);
export const objectId = z.string().regex(/^[0-9A-Za-z_-]{1,64}$/, 'must be an object id');
export const flag = z.union([z.boolean(), z.stringbool()]);
export const json = z.record(z.string(), z.unknown());
/** `next` of the previous page. */
export const cursor = z.string().max(MAX_CURSOR_LENGTH);
export const limit = z.coerce.number<number>().int().min(1).max(200).default(50);

/** Routes that write a value over a certain other one only, so that they can undo an act. */
export const UNDO_ACTIONS = [
  'changeClassPermission',
  'changeRole',
  'changeSetting',
  'changeUser',
  'resetTemplate',
  'setTemplate',
] as const;

/** The call that undoes an act: NO_EFFECT where what the act wrote is no longer stored. Null: the act cannot be undone. */
export const undo = z
  .object({ action: z.enum(UNDO_ACTIONS), params: z.record(z.string(), z.string()), body: json })
  .nullable();

export type Undo = NonNullable<z.output<typeof undo>>;

export const total = z.object({ value: count, isExact: z.boolean() });

export function pageOf<Item extends z.ZodType>(
  item: Item,
): z.ZodObject<{ items: z.ZodArray<Item>; next: z.ZodNullable<typeof cursor> }> {
  return z.object({ items: z.array(item), next: cursor.nullable() });
}

export const credentialField = z.object({
  name: z.string(),
  isSecret: z.boolean(),
  isRequired: z.boolean(),
  description: z.string().nullable(),
});

export const givenFields = z.record(z.string().max(100), z.string().max(8_192));

/** The values of fields that are not secret, and the names of secret fields that are set. */
export const storedFields = z.object({ shown: z.record(z.string(), z.string()), secrets: z.array(z.string()) });
