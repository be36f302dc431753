import { expect, it } from 'vitest';
import { generateExport, idOf, KNOWN_PASSWORD, sessionTokenOf } from '../../bench/import/generate-export.mjs';
import { ApiClient, eventually, gatepost, masterClient, newFolder, startStandalone } from '#testing';

const LIFE_MS = 300_000;
const USERS = 20_000;
/** The server is killed after so many. */
const SOME = 2_000;

it(
  'an import goes on where kill -9 of the server has ended it, and loses nothing',
  async () => {
    const folder = newFolder('export');
    await generateExport(folder, { users: USERS, roles: 5, members: 500, installations: 500 });
    const first = await startStandalone();
    const run = (...options: string[]) =>
      gatepost(first, 'import', folder, '--app', first.app.id, '--apply', '--json', ...options);
    const countHere = async (server = first) =>
      Number((await masterClient(server).get('/1.1/users?count=1&limit=0')).body['count']);

    const interrupted = run();
    await eventually(async () => {
      expect(await countHere()).toBeGreaterThan(SOME);
    }, 60_000);
    await first.main.stop('SIGKILL');
    const second = { ...(await startStandalone(first.env)), app: first.app };
    const survived = await countHere(second);
    expect(survived).toBeGreaterThan(SOME);
    // The command repeats its batch while the server is away: it may even have come to the end.
    expect([0, 2]).toContain((await interrupted).status);

    const { status, stdout } = await run();
    const { classes } = JSON.parse(stdout) as { classes: Record<string, Record<string, number>> };
    const { read, unchanged = 0, imported = 0, refused } = classes['_User'] ?? {};
    expect([status, read, unchanged + imported, refused]).toEqual([0, USERS, USERS, 0]);
    expect(unchanged).toBeGreaterThan(SOME);
    expect([await countHere(second), (await run()).status]).toEqual([USERS, 0]);

    const api = ApiClient.forApp(second.baseUrls[0] ?? '', first.app);
    for (const n of [0, SOME, USERS - 1])
      expect((await api.get('/1.1/users/me', { session: sessionTokenOf(n) })).body['objectId']).toBe(idOf('user', n));
    const login = await api.post('/1.1/login', { username: 'imported7', password: KNOWN_PASSWORD });
    expect(login.body['sessionToken']).toBe(sessionTokenOf(7));
    await second.stop();
  },
  LIFE_MS,
);
