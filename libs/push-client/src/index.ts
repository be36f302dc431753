export {
  type DeviceState,
  type DeviceStore,
  type KeyValueStorage,
  memoryStore,
  webStorageStore,
} from './device-memory.js';
export { RefusedRequest } from './http.js';
export { PushClient } from './push-client.js';
export type {
  BackOffOptions,
  ConnectionState,
  Fetch,
  Gap,
  PushClientOptions,
  PushMessage,
  RegistrationOptions,
  StateChange,
  WebSocketConstructor,
  WebSocketLike,
} from './push-client.types.js';
