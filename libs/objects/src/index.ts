export {
  type Acl,
  ANONYMOUS,
  classForbidden,
  granteesOf,
  grants,
  isGranted,
  parseAcl,
  writeForbidden,
} from './access.js';
export { applyChanges } from './operations/apply-changes.js';
export { canonicalText, changedRoots, type FieldChange, type RelationChange } from './operations/change.js';
export { isDelete, isOperation, parseChanges } from './operations/parse-changes.js';
export { compileCondition, compileCount, type CompiledCount, type CompiledFind, compileFind } from './query/compile.js';

export { parseOrder } from './query/parse-values.js';
export { parseWhere } from './query/parse.js';
export type { ObjectQuery, QueryClass, QueryScope } from './query/query.js';
export {
  assertObjectSize,
  changedFields,
  inLockOrder,
  isAbsent,
  NameTree,
  newObjectId,
  pickKeys,
  readOnlyKey,
  touched,
} from './stored-object.js';
export { dateOf, invalidFieldName, isFieldName, isJsonObject, isStorableText, reachesPrototype } from './values.js';
export {
  aclSchema,
  type ClassDefinition,
  defineClass,
  type FieldDefinitions,
  incorrect,
  ObjectClass,
  type ObjectChanges,
  objectIdSchema,
  type ObjectRow,
  type ObjectView,
  plain,
} from './class-definition.js';
export {
  DEVICE_TYPE,
  installationClass,
  type InstallationChanges,
  type InstallationRow,
  parseChannels,
} from './classes/installation.class.js';
export { roleClass, type RoleRow } from './classes/role.class.js';
export {
  emailSchema,
  type LoginIdentifier,
  parseEmail,
  parsePassword,
  parsePhoneNumber,
  parseUsername,
  passwordSchema,
  phoneNumberSchema,
  requirePassword,
  type UserChanges,
  userClass,
  usernameSchema,
} from './classes/user.class.js';
