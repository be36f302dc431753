import { createServer, type Server } from 'node:net';
import { type RunningProcess, type RunningService, StartError, startListener, startService } from '#bootstrap';
import { type Application, consoleRpc } from '#contracts';
import { migrate } from '#database';
import { InProcessTransport, RpcClient } from '#messaging';
import { Readiness } from '#observability';
import { accountsDatabase } from '../../accounts/src/accounts.database.js';
import { FirstApplication } from '../../accounts/src/applications/applications.module.js';
import { authLinkingDatabase } from '../../auth-linking/src/auth-linking.database.js';
import { consoleStartError } from '../../console/src/console.config.js';
import { consoleDatabase } from '../../console/src/console.database.js';
import { gatewayConfig } from '../../gateway/src/gateway.config.js';
import { mailDatabase } from '../../mail/src/mail.database.js';
import { pushDatabase } from '../../push-delivery/src/push-delivery.database.js';
import { DataFolder } from './data-folder/data-folder.js';
import { lockDataFolder } from './data-folder/data-folder.module.js';
import type { EmbeddedPostgres } from './embedded-postgres/embedded-postgres.js';
import {
  consoleService,
  embeddedPostgres,
  OPERATOR_CONTRACTS,
  type StandaloneEnvironment,
  standaloneService,
} from './services.js';

/** On a busy machine the parts of a new process answer late. */
const FIRST_ANSWER_TIMEOUT_MS = 30_000;

export async function startStandalone(env: StandaloneEnvironment): Promise<RunningProcess> {
  const { baseUrl } = gatewayConfig(env);
  const folder = new DataFolder(env.GATEPOST_DATA_DIR);
  const transport = new InProcessTransport();
  let service: RunningService | undefined;
  let console: RunningService | undefined;
  let postgres: EmbeddedPostgres | undefined;
  const lock = await lockDataFolder(folder, OPERATOR_CONTRACTS, () => (service ? transport : undefined));
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
    postgres = await embeddedPostgres(folder, env);
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
async function assertPortsAreFree(env: StandaloneEnvironment): Promise<void> {
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

async function setUpLink(env: StandaloneEnvironment, transport: InProcessTransport, console?: RunningService) {
  if (console === undefined || env.GATEPOST_CONSOLE_PASSWORDS === 'off') return undefined;
  const { link } = await new RpcClient(transport).call(consoleRpc.createSetUpLink, { by: 'npm start' });
  return link?.url;
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
