export type { ObjectView } from './class-definition.js';
/** For a class of one's own. @public */
export type { ObjectRow } from './class-definition.js';
export { aclSchema, objectIdSchema, requestSchema, responseSchema, timestampSchema } from './class-schemas.js';
export {
  DEVICE_TYPE,
  installationClass,
  type InstallationChanges,
  type InstallationRow,
  parseChannels,
} from './classes/installation.class.js';
export { roleClass } from './classes/role.class.js';
export {
  emailSchema,
  hashable,
  isUid,
  kindOfEntry,
  type LoginIdentifier,
  parseEmail,
  parsePassword,
  parsePhoneNumber,
  passwordSchema,
  phoneNumberSchema,
  requirePassword,
  uidOfEntry,
  type UserChanges,
  userClass,
  usernameSchema,
} from './classes/user.class.js';
export { claimsOf, type ImportClaim, isTokenClaim, keysOf, withoutClaim } from './import-claims.js';
export { parseImportedRow } from './imported-object.js';
export type { ObjectClass } from './object-class.js';
/** For a class of one's own. @public */
export { defineClass, newRow } from './object-class.js';
export { applyChanges } from './operations/apply-changes.js';
export { canonicalText, changedRoots, isDelete, isOperation, parseChanges } from './operations/change.js';
export { compileCondition, compileCount, type CompiledCount, type CompiledFind, compileFind } from './query/compile.js';
/** For the test of the plans. @public */
export { textSearchDefinition } from './query/field-index.js';
export { parseOrder } from './query/parse-values.js';
export { parseWhere } from './query/parse.js';
export type { QueryClass, QueryScope } from './query/query.js';
export {
  assertObjectSize,
  changedFields,
  isAbsent,
  newObjectId,
  pickKeys,
  storedBytes,
  touched,
} from './stored-object.js';
export {
  type Acl,
  ANONYMOUS,
  dateOf,
  granteesOf,
  grants,
  invalidFieldName,
  isJsonObject,
  isStorableText,
  reachesPrototype,
  writeForbidden,
} from './values.js';
