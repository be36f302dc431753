import type { Credentials } from './endpoint.decorator.js';
import type { Operation, SecurityScheme } from './openapi.types.js';

const header = (name: string, description: string): SecurityScheme => ({
  type: 'apiKey',
  in: 'header',
  name,
  description,
});

/** What a request can show. */
export const SECURITY_SCHEMES: Readonly<Record<string, SecurityScheme>> = {
  applicationId: header('X-LC-Id', 'The id of the application.'),
  applicationKey: header('X-LC-Key', 'The application key.'),
  masterKey: header('X-LC-Key', 'The master key, followed by `,master`. It belongs on your own servers.'),
  applicationSign: header(
    'X-LC-Sign',
    'In place of the key: `<md5>,<timestamp>`, where md5 is that of the timestamp directly followed by the application key.',
  ),
  masterSign: header('X-LC-Sign', 'The same with the master key, followed by `,master`.'),
  session: header('X-LC-Session', 'The session token of the user who asks.'),
};

const needed = (...names: string[]) => Object.fromEntries(['applicationId', ...names].map((name) => [name, []]));

const BY_APPLICATION = [needed('applicationKey'), needed('applicationSign')];
const BY_MASTER = [needed('masterKey'), needed('masterSign')];
const BY_SESSION = [needed('applicationKey', 'session'), needed('applicationSign', 'session')];

/** The combinations that open an endpoint. */
export const SECURITY: Readonly<Record<Credentials, Operation['security']>> = {
  none: [],
  application: BY_APPLICATION,
  session: BY_SESSION,
  'session or master key': [...BY_SESSION, ...BY_MASTER],
  'master key': BY_MASTER,
};
