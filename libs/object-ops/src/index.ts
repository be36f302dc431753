export { applyChanges } from './apply-changes.js';
export { canonicalText } from './canonical-text.js';
export type { FieldChange, RelationChange } from './change.js';
export { parseChanges } from './parse-changes.js';
export { isDelete, isOperation } from './parse-operation.js';
export { changedRoots } from './path.js';
