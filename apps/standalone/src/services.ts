import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { environment, Secret, serviceEnvironment, type ServiceOptions, StartError } from '#bootstrap';
import {
  accountsImportRpc,
  accountsIndexesRpc,
  accountsSealingRpc,
  applicationsRpc,
  authLinkingSealingRpc,
  consoleRpc,
  consoleSealingRpc,
  deliveriesRpc,
  diagnosticsRpc,
  identitiesRpc,
  lockoutsRpc,
  mailSealingRpc,
  platformsRpc,
  pushImportRpc,
  pushIndexesRpc,
  pushOperationsRpc,
  pushSealingRpc,
  type RpcContract,
  storedSecretsRpc,
  templatesRpc,
  textMessageProvidersRpc,
  userSearchRpc,
  vendorsRpc,
} from '#contracts';
import { messageOf } from '#errors';
import { accountsConfig, accountsEnvironment } from '../../accounts/src/accounts.config.js';
import { AccountsModule } from '../../accounts/src/accounts.module.js';
import { authLinkingConfig, authLinkingEnvironment } from '../../auth-linking/src/auth-linking.config.js';
import { AuthLinkingModule } from '../../auth-linking/src/auth-linking.module.js';
import { consoleConfig, consoleEnvironment } from '../../console/src/console.config.js';
import { ConsoleModule } from '../../console/src/console.module.js';
import { createConsoleServer, prepareConsoleServer } from '../../console/src/http-server.js';
import { gatewayConfig, gatewayEnvironment, servingDevices } from '../../gateway/src/gateway.config.js';
import { GatewayModule } from '../../gateway/src/gateway.module.js';
import { createHttpServer, prepareHttpServer } from '../../gateway/src/http-server.js';
import { mailConfig, mailEnvironment } from '../../mail/src/mail.config.js';
import { MailModule } from '../../mail/src/mail.module.js';
import { pushDeliveryConfig, pushDeliveryEnvironment } from '../../push-delivery/src/push-delivery.config.js';
import { PushDeliveryModule } from '../../push-delivery/src/push-delivery.module.js';
import type { DataFolder } from './data-folder/data-folder.js';
import { DataFolderModule } from './data-folder/data-folder.module.js';
import { EmbeddedPostgres } from './embedded-postgres/embedded-postgres.js';
import { clusterFolder, postgresBinaries, postgresUser } from './embedded-postgres/postgres-files.js';

const NEW_DATABASE_MIB = 128;
/** auth-linking reads an application's credentials at most once a second. */
const AUTH_LINKING_POOL = 2;
/** Handling events, claiming deliveries, and recording their outcome. */
const MAIL_POOL = 4;
/** Device queues, and the installation scans of pushes. */
const PUSH_POOL = 8;
const CONSOLE_POOL = 2;
/** For connections that are closing while others take their place, and for an operator's own. */
const SPARE_CONNECTIONS = 5;

export const standaloneEnvironment = z
  .object({
    ...accountsEnvironment.shape,
    ...authLinkingEnvironment.shape,
    ...mailEnvironment.shape,
    ...pushDeliveryEnvironment.shape,
    ...gatewayEnvironment.shape,
    ...consoleEnvironment.shape,
    ...serviceEnvironment.shape,
    // Generated at the first start if absent.
    GATEPOST_SECRET: environment.shape.GATEPOST_SECRET,
    // A developer reads this console: the welcome text reports success, the log only problems.
    GATEPOST_LOG_LEVEL: environment.shape.GATEPOST_LOG_LEVEL.unwrap().default('warn'),
  })
  .omit({
    DATABASE_URL: true,
    GATEPOST_ACCOUNTS_DATABASE_URL: true,
    GATEPOST_AUTH_LINKING_DATABASE_URL: true,
    GATEPOST_CONSOLE_DATABASE_URL: true,
    GATEPOST_MAIL_DATABASE_URL: true,
    GATEPOST_PUSH_DATABASE_URL: true,
    GATEPOST_PUSH_ROLES: true,
  });
export type StandaloneEnvironment = z.output<typeof standaloneEnvironment>;

export async function embeddedPostgres(folder: DataFolder, env: StandaloneEnvironment): Promise<EmbeddedPostgres> {
  const user = postgresUser();
  const cluster = clusterFolder(folder.path, user);
  const isNew = !existsSync(join(cluster, 'PG_VERSION'));
  if (!isNew) folder.assertComplete(env.GATEPOST_SECRET !== undefined);
  // Before the database, which would count as one whose secret is lost.
  secretsOf(env, folder);
  await folder.assertRoom(isNew ? NEW_DATABASE_MIB : undefined).catch((cause: unknown) => {
    throw new StartError(`PostgreSQL lacks room: ${messageOf(cause)}.`, { cause });
  });
  return new EmbeddedPostgres({
    binaries: postgresBinaries(user),
    folder: cluster,
    password: folder.databasePassword(),
    logFile: folder.file('postgres.log'),
    user,
    connections: connectionsOf(env),
  });
}

/** docs/operations.md#limits-and-how-to-raise-them */
function connectionsOf({ GATEPOST_DATABASE_POOL: accounts }: StandaloneEnvironment): number {
  // Besides their pool: queries with and without an index in half as many each, two for look-ups, one that builds indexes.
  const withQueries = [accounts, PUSH_POOL].map((pool) => pool + 2 * Math.ceil(pool / 2) + 3);
  const all = [...withQueries, AUTH_LINKING_POOL, MAIL_POOL, CONSOLE_POOL, SPARE_CONNECTIONS];
  return all.reduce((sum, pool) => sum + pool);
}

export function standaloneService(
  env: StandaloneEnvironment,
  folder: DataFolder,
  databaseUrl: string,
): Omit<ServiceOptions, 'transport'> {
  const gateway = servingDevices(gatewayConfig(env));
  const secrets = secretsOf(env, folder);
  const shared = { ...env, ...secrets, DATABASE_URL: databaseUrl };
  const withLinks = { ...shared, GATEPOST_BASE_URL: gateway.baseUrl };
  const accounts = accountsConfig(withLinks);
  const authLinking = authLinkingConfig(shared);
  const mail = mailConfig(withLinks);
  const push = pushDeliveryConfig({
    ...shared,
    GATEPOST_PUSH_DATABASE_URL: undefined,
    GATEPOST_PUSH_ROLES: new Set(['dispatcher', 'connector', 'sender']),
  });
  const initialApplication = {
    id: env.GATEPOST_APP_ID,
    appKey: env.GATEPOST_APP_KEY,
    masterKey: env.GATEPOST_MASTER_KEY,
  };
  return {
    name: 'standalone',
    // One receiver handles the messages for all modules of the process: a second one would handle each event again.
    serves: ['standalone'],
    imports: [
      GatewayModule.forRoot(gateway, { requestCounts: 'memory' }),
      AccountsModule.forRoot({ ...accounts, initialApplication }, { lockouts: 'postgresql' }),
      AuthLinkingModule.forRoot({ ...authLinking, databasePool: AUTH_LINKING_POOL }),
      MailModule.forRoot({ ...mail, databasePool: MAIL_POOL }),
      DataFolderModule.forRoot(folder, env.GATEPOST_SECRET !== undefined),
      PushDeliveryModule.forRoot({ ...push, databasePool: PUSH_POOL }, { deviceQueues: 'postgresql' }),
    ],
    env,
    http: createHttpServer(gateway),
    prepare: prepareHttpServer,
  };
}

function secretsOf(env: StandaloneEnvironment, folder: DataFolder) {
  const kept = folder.acceptedSecrets().map((one) => new Secret(one));
  return {
    GATEPOST_SECRET: env.GATEPOST_SECRET ?? new Secret(folder.secret()),
    GATEPOST_ACCEPTED_SECRETS: [...env.GATEPOST_ACCEPTED_SECRETS, ...kept],
  };
}

/** A port of its own: no route of operators is in the router of clients. Undefined if the console is off. */
export function consoleService(
  env: StandaloneEnvironment,
  folder: DataFolder,
  databaseUrl: string,
): Omit<ServiceOptions, 'transport'> | undefined {
  const { GATEPOST_CONSOLE_PORT: port, GATEPOST_CONSOLE_HOST: host } = env;
  if (port === 'off') return undefined;
  const config = consoleConfig({
    ...env,
    ...secretsOf(env, folder),
    DATABASE_URL: databaseUrl,
    GATEPOST_CONSOLE_DATABASE_URL: undefined,
    GATEPOST_BASE_URL: gatewayConfig(env).baseUrl,
  });
  return {
    name: 'console',
    serves: ['console'],
    imports: [ConsoleModule.forRoot({ ...config, databasePool: CONSOLE_POOL }, null)],
    env: { ...env, GATEPOST_PORT: port, GATEPOST_HOST: host },
    http: createConsoleServer(config),
    prepare: prepareConsoleServer,
  };
}

export const OPERATOR_CONTRACTS = [
  accountsImportRpc,
  accountsIndexesRpc,
  accountsSealingRpc,
  applicationsRpc,
  authLinkingSealingRpc,
  consoleRpc,
  consoleSealingRpc,
  deliveriesRpc,
  storedSecretsRpc,
  mailSealingRpc,
  pushImportRpc,
  pushIndexesRpc,
  pushOperationsRpc,
  pushSealingRpc,
  identitiesRpc,
  lockoutsRpc,
  platformsRpc,
  diagnosticsRpc,
  templatesRpc,
  textMessageProvidersRpc,
  userSearchRpc,
  vendorsRpc,
].flatMap((group) => Object.values<RpcContract>(group));
