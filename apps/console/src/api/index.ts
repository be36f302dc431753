import { accessApi } from './access.api.js';
import { applicationsApi } from './applications.api.js';
import { credentialsApi } from './credentials.api.js';
import { healthApi } from './health.api.js';
import { messagesApi } from './messages.api.js';
import { operatorsApi } from './operators.api.js';
import { pushesApi } from './pushes.api.js';
import { usersApi } from './users.api.js';

/** The name of a route is the action of an audit entry. */
export const consoleApi = {
  ...accessApi,
  ...operatorsApi,
  ...applicationsApi,
  ...credentialsApi,
  ...usersApi,
  ...messagesApi,
  ...pushesApi,
  ...healthApi,
};

type Api = typeof consoleApi;

export type AuditedRoute = {
  [Name in keyof Api]: Api[Name]['isRead'] extends false ? Name : never;
}[keyof Api];

export * from './access.api.js';
export * from './applications.api.js';
export * from './credentials.api.js';
export * from './health.api.js';
export * from './messages.api.js';
export * from './operators.api.js';
export * from './shared.js';
export * from './pushes.api.js';
export * from './route.js';
export * from './users.api.js';
