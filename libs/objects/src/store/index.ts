export { FieldIndexes } from './field-indexes.js';
export { FieldIndexesModule } from './field-indexes.module.js';
export { createFieldIndexTables } from './field-indexes.repository.js';
export { countRows, listBounded, QueryDatabase, queryFailure } from './query-database.js';
export { SlowQueries } from './slow-queries.js';
export { ALWAYS_MET, type UpdateCondition, updateCondition } from './update-condition.js';
export { FIELD_INDEX_ENTITIES } from './field-index.entity.js';
