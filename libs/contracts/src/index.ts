export * from './accounts.contract.js';
export {
  type Application,
  application,
  type ApplicationSettings,
  applicationSettings,
  SETTING_NAMES,
} from './application.schema.js';
export * from './caller.schema.js';
export * from './class-permissions.schema.js';
export * from './event.js';
export * from './events.contract.js';
export * from './json.schema.js';
export * from './lockouts.contract.js';
export {
  MAX_LIST_LIMIT,
  MAX_LIST_SKIP,
  MAX_REMOVED_OBJECTS,
  MAX_SAVED_OBJECTS,
  type ObjectListQuery,
  type ObjectReadOptions,
  objectsRpc,
  type ObjectWrite,
  type ObjectWriteOptions,
} from './objects.contract.js';
export * from './phone-numbers.contract.js';
export * from './roles.contract.js';
export { rpc, type RpcContract, type RpcData, type RpcReply } from './rpc.js';
export * from './text-message.schema.js';
export * from './visible-user.schema.js';
