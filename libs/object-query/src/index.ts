export { compileCondition, compileCount, type CompiledCondition, type CompiledFind, compileFind } from './compile.js';
export { parseOrder, parseWhere } from './parse.js';
export type { ObjectQuery } from './query.js';
export type { QueryClass, QueryScope } from './query-class.js';
export { isStorableText } from './storable-text.js';
