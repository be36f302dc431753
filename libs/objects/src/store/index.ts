export { FieldIndexes } from './field-indexes.js';
export { createFieldIndexTables, FIELD_INDEX_ENTITIES } from './field-indexes.repository.js';
export { type ImportedRow, type ImportRules } from './import-decisions.js';
export { AccessSource, ObjectAccess } from './object-access.js';
/** For the tests of a class's rules. @public */
export { ObjectImports } from './object-imports.js';
export { ObjectReader } from './object-reader.js';
export { ObjectRepository } from './object.repository.js';
/** For a class of one's own. @public */
export type { ObjectEntity } from './object.repository.js';
export { ObjectsModule } from './objects.module.js';
export { countRows, listBounded, preparedStatementName, QueryDatabase, queryFailure } from './query-database.js';
export {
  type AccessContext,
  type CreateOptions,
  type ObjectWrites,
  type PreparedWrite,
  type RemovalAccess,
  type Requester,
  StoredClasses,
  type UpdateOptions,
  type WriteResult,
} from './stored-classes.js';
