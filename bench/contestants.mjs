// Starts what is compared: the services, the standalone server and the bare server, each with one user signed up.
import { createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { answering, APP, freePort, newBenchRun, ready, SECRET } from './bench-run.mjs';
import { residentMb } from './report.mjs';
import { embeddedDatabaseUrl, seedUsers } from './seed.mjs';

const USER = { username: 'bench', password: 'correct horse', email: 'bench@example.com', nickname: 'Bench', level: 1 };
const IDLE_SECONDS = 3;
/** Users of a platform that nobody verifies. */
const PLATFORM_USERS = 64;

export async function startContestants() {
  const run = await newBenchRun();
  const { folder, launch, stop } = run;
  try {
    const ports = {
      gateway: await freePort(),
      accounts: await freePort(),
      authLinking: await freePort(),
      standalone: await freePort(),
      bare: await freePort(),
    };
    const standalone = launch('dist/apps/standalone/src/main.js', {
      ...APP,
      GATEPOST_PORT: ports.standalone,
      GATEPOST_DATA_DIR: join(folder, 'data'),
    });
    await ready(ports.standalone);
    await sleep(IDLE_SECONDS * 1000);
    const standaloneIdleMb = residentMb(standalone.pid);
    await seedUsers(embeddedDatabaseUrl(join(folder, 'data')), APP.GATEPOST_APP_ID);

    const common = run.services;
    await run.command('migrate', '--quiet');
    launch('dist/apps/accounts/src/main.js', { ...common, ...APP, GATEPOST_PORT: ports.accounts });
    launch('dist/apps/auth-linking/src/main.js', { ...common, GATEPOST_PORT: ports.authLinking });
    launch('dist/apps/gateway/src/main.js', { ...common, GATEPOST_PORT: ports.gateway });
    await Promise.all([ready(ports.accounts), ready(ports.authLinking), ready(ports.gateway)]);
    await seedUsers(common.DATABASE_URL, APP.GATEPOST_APP_ID);

    const services = await contestant('services', ports.gateway, { accounts: ports.accounts, gateway: ports.gateway });
    const alone = await contestant('standalone', ports.standalone, { standalone: ports.standalone });
    launch('bench/bare-server.mjs', {
      DATABASE_URL: common.DATABASE_URL,
      PORT: ports.bare,
      APP_ID: APP.GATEPOST_APP_ID,
      TOKEN_HASH: tokenHash(services.user.sessionToken),
    });
    const bare = {
      ...services,
      kind: 'bare',
      url: `http://127.0.0.1:${ports.bare}`,
      lags: async () => [],
    };
    await answering(bare.url);
    const list = [bare, services, alone];
    return {
      list,
      standaloneIdleMb,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function contestant(kind, port, metricPorts) {
  const url = `http://127.0.0.1:${port}`;
  const keys = { 'x-lc-id': APP.GATEPOST_APP_ID, 'x-lc-key': APP.GATEPOST_APP_KEY };
  const signUp = async (fields) => {
    const response = await fetch(`${url}/1.1/users`, {
      method: 'POST',
      headers: { ...keys, 'content-type': 'application/json' },
      body: JSON.stringify(fields),
    });
    const answer = await response.json();
    if (response.status === 201) return answer;
    throw new Error(`${kind}: sign-up answered ${response.status} ${JSON.stringify(answer)}`);
  };
  const user = { ...USER, ...(await signUp(USER)) };
  const identities = Array.from({ length: PLATFORM_USERS }, (_, index) => ({
    github: { uid: `bench${index}`, access_token: randomBytes(20).toString('hex') },
  }));
  for (const authData of identities) await signUp({ authData });
  const lags = () =>
    Promise.all(
      Object.entries(metricPorts).map(async ([name, metricPort]) => [
        kind === name ? name : `${kind}: ${name}`,
        await lagMs(metricPort),
      ]),
    );
  const headers = { ...keys, 'x-lc-session': user.sessionToken };
  const masterHeaders = { ...keys, 'x-lc-key': `${APP.GATEPOST_MASTER_KEY},master` };
  return { kind, url, user, identities, headers, masterHeaders, lags };
}

/** The longest lag since the last look: the metric starts anew with each. */
async function lagMs(port) {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const [, seconds] = /^nodejs_eventloop_lag_max_seconds (\S+)/m.exec(text) ?? [];
  return Number(seconds) * 1000;
}

/** The keyed hash under which the service has stored the token, so that the bare server can run the same statement. */
function tokenHash(token) {
  const key = Buffer.from(hkdfSync('sha256', SECRET, '', 'gatepost lookup', 32));
  return createHmac('sha256', key).update(token).digest('hex');
}
