export { compileQuery, type QueryFields } from './compile.js';
export { parseOrder, parseWhere } from './parse.js';
export type { ObjectQuery } from './query.js';
export { isStorableText } from './storable-text.js';
