export { memoryStore, webStorageStore } from './device.js';
export { RefusedRequest } from './http.js';
export { PushClient } from './push-client.js';
export type {
  BackOffOptions,
  ConnectionState,
  DeviceState,
  DeviceStore,
  Fetch,
  Gap,
  KeyValueStorage,
  PushClientOptions,
  PushMessage,
  RegistrationOptions,
  StateChange,
  WebSocketConstructor,
  WebSocketLike,
} from './push-client.types.js';
