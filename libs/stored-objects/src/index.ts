export { countRows, listBounded } from './bounded-list.js';
export { NameTree } from './name-tree.js';
export { newObjectId } from './object-id.js';
export { pickKeys } from './pick-keys.js';
export { QueryDatabase } from './query-database.js';
export { queryFailure } from './query-failure.js';
export { assertObjectSize, changedFields, inLockOrder, isAbsent, readOnlyKey, touched } from './stored-object.js';
export { ALWAYS_MET, type UpdateCondition, updateCondition } from './update-condition.js';
