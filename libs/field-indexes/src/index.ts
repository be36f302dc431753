export { createFieldIndexTables } from './field-index-tables.js';
export { FieldIndexes } from './field-indexes.js';
export { FieldIndexesModule } from './field-indexes.module.js';
export { SlowQuestions } from './slow-questions.js';
