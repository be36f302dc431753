export {
  type CompiledCondition,
  type CompiledCount,
  type CompiledFind,
  compileCondition,
  compileCount,
  compileFind,
} from './compile.js';
export { type FieldIndex, fieldIndexDefinition } from './field-index.js';
export { parseWhere } from './parse.js';
export { parseOrder } from './parse-order.js';
export { bestFit, conjunction, isCustom } from './index-fit.js';
export type { Condition, ObjectQuery } from './query.js';
export type { QueryClass, QueryScope } from './query-class.js';
