type ColumnType = 'text' | 'boolean' | 'date';

export interface QueryColumn {
  readonly sql: string;
  readonly type: ColumnType;
  /** Left out where every row has a value: an index serves the order then. */
  readonly isNullable?: true;
  /** No two rows of an application have the same value, and an index knows. */
  readonly isUnique?: true;
}

/** A relation kept in a table of pairs: which objects of another class belong to an object of this one. */
export interface QueryRelation {
  /** The class of the members. */
  readonly className: string;
  readonly table: string;
  readonly appColumn: string;
  readonly ownerColumn: string;
  readonly memberColumn: string;
}

/** What of a class may be queried, and where it is kept. Names of SQL stand here, written by us; never a name from input. */
export interface QueryClass {
  /** As the API knows it, such as `_User`. */
  readonly className: string;
  readonly table: string;
  /** Fields with a column of their own. Names that are neither here, nor a relation, nor hidden are custom fields in the JSON column. */
  readonly columns: ReadonlyMap<string, QueryColumn>;
  readonly relations: ReadonlyMap<string, QueryRelation>;
  /** Fields that nobody may ask about, in whatever part of a query. */
  readonly hidden: ReadonlySet<string>;
  readonly appColumn: string;
  /** Breaks ties of the order, so that pages neither overlap nor leave gaps. */
  readonly idColumn: string;
  /** An object, never NULL; indexed by `gin (… jsonb_path_ops)` where equality shall be quick. */
  readonly jsonColumn: string;
  /** Who may read a row; SQL's NULL means everybody. */
  readonly aclColumn: string;
  /** By what rows are ordered where the query does not say. */
  readonly defaultOrderColumn: string;
}

/** For whom a query runs: it sees the rows of one application that one of the grantees may read. */
export interface QueryScope {
  readonly appId: string;
  /** Names as ACLs use them: `*`, user ids, `role:<name>`. The master key sees all rows. */
  readonly grantees: 'master' | readonly string[];
  /** The class that a sub-query or a pointer names. @throws AppError where there is none, or the caller may not find in it */
  classOf(className: string): QueryClass;
}
