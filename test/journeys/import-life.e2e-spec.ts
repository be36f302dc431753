import { beforeAll, describe, expect, it } from 'vitest';
import {
  ApiClient,
  eventually,
  gatepost,
  type GatepostServer,
  isProvided,
  masterClient,
  newFolder,
  startServices,
  startStandalone,
} from '#testing';
import { generateExport, idOf, KNOWN_PASSWORD, sessionTokenOf } from '../../bench/import/generate-export.mjs';

const LIFE_MS = 300_000;
const USERS = 20_000;
/** The server is killed after so many. */
const SOME = 2_000;

let folder: string;
beforeAll(async () => {
  folder = newFolder('export');
  await generateExport(folder, { users: USERS, roles: 5, members: 500, installations: 500 });
});

const runImport = (server: GatepostServer) =>
  gatepost(server, 'import', folder, '--app', server.app.id, '--apply', '--json');
const countHere = async (server: GatepostServer) =>
  Number((await masterClient(server).get('/1.1/users?count=1&limit=0')).body['count']);

/** Kills the server in the middle of an import. @returns the server that goes on */
async function killed(first: GatepostServer, kill: () => Promise<GatepostServer>): Promise<GatepostServer> {
  const interrupted = runImport(first);
  await eventually(async () => {
    expect(await countHere(first)).toBeGreaterThan(SOME);
  }, 60_000);
  const second = await kill();
  // A request that the killed process had taken may be answered with 503.
  await eventually(async () => {
    expect(await countHere(second)).toBeGreaterThan(SOME);
  }, 30_000);
  // The command repeats its batch while the server is away: it may even have come to the end.
  expect([0, 2]).toContain((await interrupted).status);
  return second;
}

async function assertComplete(server: GatepostServer): Promise<void> {
  const { status, stdout } = await runImport(server);
  const { classes } = JSON.parse(stdout) as { classes: Record<string, Record<string, number>> };
  const { read, unchanged = 0, imported = 0, refused } = classes['_User'] ?? {};
  expect([status, read, unchanged + imported, refused]).toEqual([0, USERS, USERS, 0]);
  expect(unchanged).toBeGreaterThan(SOME);
  expect([await countHere(server), (await runImport(server)).status]).toEqual([USERS, 0]);

  const api = ApiClient.forApp(server.baseUrls[0] ?? '', server.app);
  for (const n of [0, SOME, USERS - 1])
    expect((await api.get('/1.1/users/me', { session: sessionTokenOf(n) })).body['objectId']).toBe(idOf('user', n));
  const login = await api.post('/1.1/login', { username: 'imported7', password: KNOWN_PASSWORD });
  expect(login.body['sessionToken']).toBe(sessionTokenOf(7));
}

it(
  'an import goes on where kill -9 of the server has ended it, and loses nothing',
  async () => {
    const first = await startStandalone();
    const second = await killed(first, async () => {
      await first.main.stop('SIGKILL');
      return { ...(await startStandalone(first.env)), app: first.app };
    });
    await assertComplete(second);
    await second.stop();
  },
  LIFE_MS,
);

describe.runIf(isProvided('postgresql', 'redis', 'rabbitmq'))('an import into services', () => {
  it(
    'goes on where kill -9 of an accounts process has ended it, and loses nothing',
    async () => {
      const services = await startServices({ gateway: 1, accounts: 2, 'push-delivery': 1 });
      const [victim] = services.processes.filter(({ service }) => service === 'accounts');
      await killed(services, () => {
        process.kill(victim?.pid ?? 0, 'SIGKILL');
        return Promise.resolve(services);
      });
      await assertComplete(services);
      await services.stop();
    },
    LIFE_MS,
  );
});
