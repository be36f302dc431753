export { createFieldIndexTables } from './field-index-tables.js';
export { type FieldIndexed, FieldIndexes } from './field-indexes.js';
export { FieldIndexesModule, type IndexedService } from './field-indexes.module.js';
export { SlowQuestions } from './slow-questions.js';
