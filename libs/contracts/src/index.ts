export * from './accounts.contract.js';
export {
  type Application,
  application,
  appId,
  type ApplicationSettings,
  applicationSettings,
  type OldKey,
  SETTING_NAMES,
} from './application.schema.js';
export * from './auth-linking.contract.js';
export * from './caller.schema.js';
export * from './class-permissions.schema.js';
export {
  type CredentialField,
  credentialFieldsOf,
  credentialProblem,
  type CredentialSchema,
  type SplitCredentials,
  splitCredentials,
} from './credential.schema.js';
export * from './deliveries.contract.js';
export * from './emails.contract.js';
export * from './event.js';
export * from './events.contract.js';
export * from './field-indexes.contract.js';
export * from './identities.contract.js';
export * from './identity.schema.js';
export * from './installations.contract.js';
export * from './json.schema.js';
export * from './lockouts.contract.js';
export * from './mail.schema.js';
export { nodeMessage, type NodeMessageContract, type NodeMessagePayload } from './node-message.js';
export { isObjectId, isUserOrRole } from './object-id.js';
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
export * from './platform.schema.js';
export * from './platforms.contract.js';
export * from './principal.schema.js';
export * from './push.contract.js';
export * from './push-node.contract.js';
export * from './roles.contract.js';
export { rpc, type RpcContract, type RpcData, type RpcReply } from './rpc.js';
export * from './secrets.contract.js';
export * from './self-report.contract.js';
export * from './templates.contract.js';
export * from './text-message.schema.js';
export * from './text-message-provider.schema.js';
export * from './text-message-providers.contract.js';
export * from './visible-user.schema.js';
