export * from './accounts.contract.js';
export * from './application.schema.js';
export * from './caller.schema.js';
export * from './event.js';
export * from './events.contract.js';
export * from './json.schema.js';
export * from './rpc.js';
export * from './visible-user.schema.js';
