import { existsSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { z } from 'zod';
import {
  environment,
  type RunningProcess,
  type RunningService,
  Secret,
  serviceEnvironment,
  type ServiceOptions,
  StartError,
  startListener,
  startService,
} from '#bootstrap';
import { type Application, consoleRpc } from '#contracts';
import { migrate } from '#database';
import { InProcessTransport, RpcClient } from '#messaging';
import { Readiness } from '#observability';
import { accountsConfig, accountsEnvironment } from '../../accounts/src/accounts.config.js';
import { accountsDatabase } from '../../accounts/src/accounts.database.js';
import { AccountsModule } from '../../accounts/src/accounts.module.js';
import { FirstApplication } from '../../accounts/src/applications/first-application.js';
import { authLinkingConfig, authLinkingEnvironment } from '../../auth-linking/src/auth-linking.config.js';
import { authLinkingDatabase } from '../../auth-linking/src/auth-linking.database.js';
import { AuthLinkingModule } from '../../auth-linking/src/auth-linking.module.js';
import { consoleConfig, consoleEnvironment, consoleStartError } from '../../console/src/console.config.js';
import { consoleDatabase } from '../../console/src/console.database.js';
import { ConsoleModule } from '../../console/src/console.module.js';
import { createConsoleServer, prepareConsoleServer } from '../../console/src/http-server.js';
import { gatewayConfig, gatewayEnvironment, servingDevices } from '../../gateway/src/gateway.config.js';
import { GatewayModule } from '../../gateway/src/gateway.module.js';
import { createHttpServer, prepareHttpServer } from '../../gateway/src/http-server.js';
import { mailConfig, mailEnvironment } from '../../mail/src/mail.config.js';
import { mailDatabase } from '../../mail/src/mail.database.js';
import { MailModule } from '../../mail/src/mail.module.js';
import { pushDeliveryConfig, pushDeliveryEnvironment } from '../../push-delivery/src/push-delivery.config.js';
import { pushDatabase } from '../../push-delivery/src/push-delivery.database.js';
import { PushDeliveryModule } from '../../push-delivery/src/push-delivery.module.js';
import { DataFolder, lockDataFolder } from './data-folder.js';
import { EmbeddedPostgres } from './embedded-postgres/embedded-postgres.js';
import { clusterFolder, postgresBinaries, postgresUser } from './embedded-postgres/postgres-files.js';
import { StoredSecretsModule } from './stored-secrets/stored-secrets.module.js';

/** auth-linking reads an application's credentials at most once a second. */
const AUTH_LINKING_POOL = 2;
/** Handling events, claiming deliveries, and recording their outcome. */
const MAIL_POOL = 4;
/** Device queues, and the installation scans of pushes. */
const PUSH_POOL = 8;
const CONSOLE_POOL = 2;
/** For connections that are closing while others take their place, and for an operator's own. */
const SPARE_CONNECTIONS = 5;
/** On a busy machine the parts of a new process answer late. */
const FIRST_ANSWER_TIMEOUT_MS = 30_000;

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
type Environment = z.output<typeof standaloneEnvironment>;

export async function startStandalone(env: Environment): Promise<RunningProcess> {
  const { baseUrl } = gatewayConfig(env);
  const folder = new DataFolder(env.GATEPOST_DATA_DIR);
  const transport = new InProcessTransport();
  let service: RunningService | undefined;
  let console: RunningService | undefined;
  let postgres: EmbeddedPostgres | undefined;
  const lock = await lockDataFolder(folder, () => (service === undefined ? undefined : transport));
  const stop = () =>
    runAll([
      // Together: each would otherwise serve for GATEPOST_DRAIN_SECONDS after the other one has ended.
      () => Promise.all([console?.drain(), service?.drain()]),
      () => console?.stop(),
      () => service?.stop(),
      () => postgres?.stop(),
      () => lock.close(),
    ]);
  try {
    await assertPortsAreFree(env);
    postgres = embeddedPostgres(folder, env);
    await postgres.start();
    for (const database of [accountsDatabase, authLinkingDatabase, mailDatabase, pushDatabase, consoleDatabase])
      await migrate(database(postgres.url, 1));
    // Both settings are checked before the first start, which creates the first application.
    const services = standaloneService(env, folder, postgres.url);
    const consoleOnly = consoleService(env, folder, postgres.url);
    service = await startService({ ...services, transport: () => transport });
    if (consoleOnly !== undefined) console = await startListener({ ...consoleOnly, transport: () => transport });
    await welcome(service, baseUrl, await setUpLink(env, transport, console));
    return { stop, lost: postgres.lost };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Runs all steps in order, even after a failure. @throws the first error */
async function runAll(steps: readonly (() => Promise<unknown> | undefined)[]): Promise<void> {
  const errors: unknown[] = [];
  for (const step of steps)
    await Promise.resolve()
      .then(step)
      .catch((error: unknown) => errors.push(error));
  if (errors.length > 0) throw errors[0];
}

/** A start that fails later would have created an application without showing its keys. @throws the error of `listen`; for the console's port StartError */
async function assertPortsAreFree(env: Environment): Promise<void> {
  const probes: Server[] = [];
  try {
    probes.push(await listen(env.GATEPOST_PORT, env.GATEPOST_HOST));
    const { GATEPOST_CONSOLE_PORT: port, GATEPOST_CONSOLE_HOST: host } = env;
    if (port !== 'off') probes.push(await listen(port, host).catch(asConsoleStartError));
  } finally {
    await Promise.all(probes.map((probe) => new Promise((resolve) => probe.close(resolve))));
  }
}

async function listen(port: number, host: string): Promise<Server> {
  const probe = createServer();
  await new Promise<void>((resolve, reject) => {
    probe.once('error', reject);
    probe.listen(port, host, resolve);
  });
  return probe;
}

function asConsoleStartError(cause: unknown): never {
  throw consoleStartError(cause);
}

/** A port of its own: no route of operators is in the router of clients. Undefined if the console is off. */
function consoleService(
  env: Environment,
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

async function setUpLink(env: Environment, transport: InProcessTransport, console: RunningService | undefined) {
  if (console === undefined || env.GATEPOST_CONSOLE_PASSWORDS === 'off') return undefined;
  const { link } = await new RpcClient(transport).call(consoleRpc.createSetUpLink, { by: 'npm start' });
  return link?.url;
}

function embeddedPostgres(folder: DataFolder, env: Environment): EmbeddedPostgres {
  const user = postgresUser();
  const cluster = clusterFolder(folder.path, user);
  if (existsSync(join(cluster, 'PG_VERSION'))) folder.assertComplete(env.GATEPOST_SECRET !== undefined);
  // Before the database, which would count as one whose secret is lost.
  secretsOf(env, folder);
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
function connectionsOf({ GATEPOST_DATABASE_POOL: accounts }: Environment): number {
  // Besides their pool: queries with and without an index in half as many each, two for look-ups, one that builds indexes.
  const withQueries = [accounts, PUSH_POOL].map((pool) => pool + 2 * Math.ceil(pool / 2) + 3);
  const all = [...withQueries, AUTH_LINKING_POOL, MAIL_POOL, CONSOLE_POOL, SPARE_CONNECTIONS];
  return all.reduce((sum, pool) => sum + pool);
}

export function standaloneService(
  env: Environment,
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
      StoredSecretsModule.forRoot(folder, env.GATEPOST_SECRET !== undefined),
      PushDeliveryModule.forRoot({ ...push, databasePool: PUSH_POOL }, { deviceQueues: 'postgresql' }),
    ],
    env,
    http: createHttpServer(gateway),
    prepare: prepareHttpServer,
  };
}

function secretsOf(env: Environment, folder: DataFolder) {
  const kept = folder.acceptedSecrets().map((one) => new Secret(one));
  return {
    GATEPOST_SECRET: env.GATEPOST_SECRET ?? new Secret(folder.secret()),
    GATEPOST_ACCEPTED_SECRETS: [...env.GATEPOST_ACCEPTED_SECRETS, ...kept],
  };
}

async function welcome({ app }: RunningService, baseUrl: string, link: string | undefined): Promise<void> {
  const created = await app.get(FirstApplication).created();
  const problems = await app.get(Readiness).problems(FIRST_ANSWER_TIMEOUT_MS);
  if (problems.length > 0) throw new StartError(`Gatepost cannot serve: ${problems.join('; ')}`);
  process.stdout.write(created === undefined ? welcomeBack(baseUrl, link) : firstWelcome(baseUrl, created, link));
}

function firstWelcome(baseUrl: string, { id, appKey, masterKey }: Application, link: string | undefined): string {
  return `
Gatepost is ready at ${baseUrl}

  Application id   ${id}
  Application key  ${appKey}
  Master key       ${masterKey}   (for your own servers only)
${consoleLine(link)}
Sign up a first user:

  curl -X POST ${baseUrl}/1.1/users -H 'Content-Type: application/json' -H 'X-LC-Id: ${id}' -H 'X-LC-Key: ${appKey}' -d '{"username":"ada","password":"correct horse"}'

Show the keys again: npm run gatepost -- apps list    Stop: Ctrl-C
`;
}

function welcomeBack(baseUrl: string, link: string | undefined): string {
  return `
Gatepost is ready at ${baseUrl}
${consoleLine(link)}
Show the applications and their keys: npm run gatepost -- apps list    Stop: Ctrl-C
`;
}

function consoleLine(link: string | undefined): string {
  return link === undefined ? '' : `\n  Console          ${link}   (once, within an hour)\n`;
}
