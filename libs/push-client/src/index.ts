export {
  type DeviceState,
  type DeviceStore,
  type KeyValueStorage,
  memoryStore,
  webStorageStore,
} from './device-store.js';
export type { Fetch, WebSocketConstructor, WebSocketLike } from './environment.types.js';
export { RefusedRequest } from './http.js';
export { PushClient } from './push-client.js';
export type {
  BackOffOptions,
  ConnectionState,
  Gap,
  PushClientOptions,
  PushMessage,
  RegistrationOptions,
  StateChange,
} from './push-client.types.js';
