// Parse Server as its documentation starts it, in a process of its own, from the folder that it was installed in.
import { createRequire } from 'node:module';

const { PEERS_FOLDER, DATABASE_URL, PORT, APP_ID, REST_KEY, MASTER_KEY } = process.env;
// Parse Server always creates a folder of logs in the working directory.
process.chdir(PEERS_FOLDER);
const { ParseServer } = createRequire(PEERS_FOLDER)('parse-server');

await ParseServer.startApp({
  databaseURI: DATABASE_URL,
  appId: APP_ID,
  restAPIKey: REST_KEY,
  masterKey: MASTER_KEY,
  masterKeyIps: ['127.0.0.1', '::1'],
  host: '127.0.0.1',
  port: Number(PORT),
  mountPath: '/1.1',
  serverURL: `http://127.0.0.1:${PORT}/1.1`,
  publicServerURL: `http://127.0.0.1:${PORT}/1.1`,
  logLevel: 'error',
  silent: true,
  logsFolder: null,
  // Gatepost verifies anonymous users no further either.
  enableAnonymousUsers: true,
  allowClientClassCreation: false,
  // Fields that the benchmark writes; no look at the schema stands in a request's way.
  schema: {
    definitions: [
      {
        className: '_User',
        fields: {
          nickname: { type: 'String' },
          level: { type: 'Number' },
          number: { type: 'Number' },
          group: { type: 'Number' },
        },
        classLevelPermissions: {
          find: { '*': true },
          count: { '*': true },
          get: { '*': true },
          create: { '*': true },
          update: { '*': true },
          delete: { '*': true },
          addField: { '*': true },
        },
      },
    ],
  },
});
