import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import bcrypt from 'bcrypt';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  ApiClient,
  type AppKeys,
  type CommandOutcome,
  createApplication,
  eventually,
  gatepost,
  gatepostReading,
  type GatepostServer,
  type Json,
  leanCloudHash,
  newFolder,
} from '#testing';

const IMPORT_MS = 60_000;
const [SALT, PASSWORD, WEAK] = ['z9y8x7w6v5u4t3s2', '密码测试🔑', 'Passw0rd!'];
const HASH = leanCloudHash(SALT, PASSWORD);
const BCRYPT = bcrypt.hashSync(WEAK, 4).replace('$2b$', '$2y$');
const TIMES = { createdAt: '2020-01-01T00:00:00.000Z', updatedAt: '2020-01-02T00:00:00.000Z' };
const OPEN = { '*': { read: true, write: true } };
const DEVICE = 'a-device-of-the-export';
/** Values that no output may name. */
const SECRETS = [HASH, BCRYPT, SALT, PASSWORD, WEAK, 'tokenof', '@example.com', '+86138', '13800', DEVICE];

/** 25 characters, as those of LeanCloud. */
const tokenOf = (n: number) => `tokenof${n}`.padEnd(25, '0');
const user = (n: number, more: Json = {}): Json => ({
  ...{ objectId: `user${n}`, username: `name${n}`, sessionToken: tokenOf(n), ACL: OPEN, ...TIMES, ...more },
});
const USERS = [
  user(1, { email: '1@example.com', emailVerified: true, password: HASH, salt: SALT, nickName: 'Ada' }),
  user(2, { mobilePhoneNumber: '13800000002', mobilePhoneVerified: true, password: BCRYPT }),
  user(3, { authData: { anonymous: { id: '2b6f0c4e-1d3a-4c5b-9e8f-7a6b5c4d3e2f' } } }),
  user(4, { password: HASH, salt: SALT, ACL: {} }),
  user(5, { authData: { my_game: { uid: 'player', access_token: 'old' } } }),
  // The address and the number are those of users before it; the number is written in another form.
  user(6, { email: '1@example.com', mobilePhoneNumber: '+8613800000002' }),
  user(7, { username: 'name1' }),
  user(8, { password: bcrypt.hashSync('p', 4).replace('$04$', '$16$') }),
];
const ROLES = ['staff', 'chiefs'].map((name) => ({ objectId: `role-${name}`, name, ACL: OPEN, ...TIMES }));
const pointer = (className: string, objectId: string) => ({ __type: 'Pointer', className, objectId });

function writeExport(folder: string): void {
  const write = (name: string, className: string, rows: readonly Json[]) => {
    const header = `#filetype:JSON-streaming {"type":"Class","class":"${className}"}`;
    writeFileSync(join(folder, name), `${[header, ...rows.map((row) => JSON.stringify(row))].join('\n')}\n`);
  };
  write('_User.0.jsonl', '_User', USERS.slice(0, 4));
  write('_User.1.jsonl', '_User', USERS.slice(4));
  write('_Role.0.jsonl', '_Role', ROLES);
  write('_Join__User_users__Role.0.jsonl', '_Join:_User:users:_Role', [
    { owningId: pointer('_Role', 'role-staff'), relatedId: pointer('_User', 'user1') },
    { owningId: pointer('_Role', 'role-staff'), relatedId: pointer('_User', 'unknown') },
  ]);
  write('_Installation.0.jsonl', '_Installation', [
    { objectId: 'device1', installationId: DEVICE, deviceType: 'android', vendor: 'lc', valid: true, ...TIMES },
  ]);
  write('Post.0.jsonl', 'Post', [{ objectId: 'post1', ...TIMES }]);
  const permissions = { find: { '*': false, users: '', roles: '' }, get: { '*': true } };
  writeFileSync(join(folder, '_User_permissions.json'), JSON.stringify({ permissions }));
}

type Counts = Record<string, Record<string, number>>;
const countsIn = ({ stdout }: CommandOutcome) => (JSON.parse(stdout) as { classes: Counts }).classes;

/** An export of the real service, imported over the command line while the server runs. */
export function describeImport(server: () => GatepostServer): void {
  describe('the import of an export', () => {
    let app: AppKeys;
    let api: ApiClient;
    let master: ApiClient;
    let [folder, out] = ['', ''];
    let applied: CommandOutcome;

    const importExport = (...options: string[]) =>
      gatepost(server(), 'import', folder, '--app', app.id, '--json', ...options);
    const members = () => join(out, 'members.csv');
    const withMembers = (...options: string[]) => importExport('--role-members', members(), ...options);

    beforeAll(async () => {
      [folder, out] = [newFolder('export'), newFolder('report')];
      writeExport(folder);
      writeFileSync(members(), 'chiefs,name2\nstaff,user3\n');
      app = await createApplication(server());
      const [url = ''] = server().baseUrls;
      [api, master] = [ApiClient.forApp(url, app), ApiClient.forMaster(url, app)];
    }, IMPORT_MS);

    it(
      'previews what it then does, with the same report, and writes nothing before',
      async () => {
        const preview = await withMembers('--report', join(out, 'preview'));
        await eventually(async () => {
          expect((await master.get('/1.1/users?count=1&limit=0')).body['count']).toBe(0);
        });
        applied = await withMembers('--apply', '--report', join(out, 'applied'));
        expect([preview.status, applied.status]).toEqual([2, 2]);
        expect(countsIn(applied)).toEqual(countsIn(preview));
        expect(countsIn(applied)['_User']).toEqual({
          ...{ read: 8, imported: 5, importedWithout: 2, refused: 1, unchanged: 0, keptNewer: 0 },
        });
        const report = readFileSync(join(out, 'applied'), 'utf8');
        expect(readFileSync(join(out, 'preview'), 'utf8')).toBe(report);
        const lines = report
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line) as Json);
        expect(lines.map(({ objectId, outcome, field, by }) => [objectId, outcome, field, by])).toEqual([
          ['user8', 'imported_without', 'password', undefined],
          // Rows with taken values are judged again once the others are in.
          ['user6', 'imported_without', 'email', 'user1'],
          ['user7', 'refused', 'username', 'user1'],
          [undefined, 'refused', 'relatedId', undefined],
        ]);
        expect(lines[1]?.['more']).toMatchObject([{ field: 'mobilePhoneNumber', by: 'user2' }]);
        expect(statSync(join(out, 'applied')).mode & 0o077).toBe(0);
        const text = [report, preview.stdout, preview.stderr, applied.stdout, applied.stderr].join('\n');
        for (const secret of SECRETS) expect(text).not.toContain(secret);
      },
      IMPORT_MS,
    );

    it('leaves sessions as they are, those of anonymous users too', async () => {
      for (const n of [1, 2, 3, 5, 6, 8])
        expect((await api.get('/1.1/users/me', { session: tokenOf(n) })).body['objectId']).toBe(`user${n}`);
      expect((await api.get('/1.1/users/me', { session: tokenOf(7) })).body['code']).toBe(211);
    });

    it.each([
      ['by username', { username: 'name1', password: PASSWORD }, 'user1'],
      ['by e-mail address', { email: '1@example.com', password: PASSWORD }, 'user1'],
      ['by number', { mobilePhoneNumber: '13800000002', password: WEAK }, 'user2'],
      ['with a closed ACL', { username: 'name4', password: PASSWORD }, 'user4'],
    ])('lets users log in %s, again and again, and with the right password only', async (_, login, id) => {
      for (let times = 0; times < 2; times += 1) {
        const { body } = await api.post('/1.1/login', login);
        expect([body['objectId'], body['sessionToken']]).toEqual([id, tokenOf(Number(id.replace('user', '')))]);
        expect((await api.post('/1.1/login', { ...login, password: 'wrong' })).body['code']).toBe(210);
      }
    });

    it('lets users log in by a linked account with a new token', async () => {
      const anonymous = { anonymous: { id: '2b6f0c4e-1d3a-4c5b-9e8f-7a6b5c4d3e2f' } };
      const game = { my_game: { uid: 'player', access_token: 'fresh' } };
      expect((await api.post('/1.1/users', { authData: anonymous })).body['objectId']).toBe('user3');
      expect((await api.post('/1.1/users', { authData: game })).body['objectId']).toBe('user5');
    });

    it('brings roles with their members, permissions and devices', async () => {
      const namesOf = async (id: string) => {
        const where = encodeURIComponent(JSON.stringify({ users: pointer('_User', id) }));
        const { body } = await master.get(`/1.1/roles?where=${where}`);
        return (body['results'] as Json[]).map(({ name }) => name);
      };
      expect([await namesOf('user1'), await namesOf('user2'), await namesOf('user3')]).toEqual([
        ['staff'],
        ['chiefs'],
        ['staff'],
      ]);
      await eventually(async () => {
        expect((await api.get('/1.1/users')).status).not.toBe(200);
      });
      expect((await api.get('/1.1/users/user1')).body['nickName']).toBe('Ada');
      const { body } = await master.get('/1.1/installations/device1');
      expect([body['installationId'], body['updatedAt']]).toEqual([DEVICE, TIMES.updatedAt]);
    });

    it(
      'changes nothing a second time, though users have logged in since',
      async () => {
        const again = await withMembers('--apply');
        expect(again.status).toBe(2);
        const { _User: users, _Role: roles, _Installation: devices } = countsIn(again);
        expect(users).toMatchObject({
          read: 8,
          imported: 0,
          importedWithout: 0,
          unchanged: 7,
          keptNewer: 0,
          refused: 1,
        });
        expect([roles?.['unchanged'], devices?.['unchanged']]).toEqual([2, 1]);
        const { body } = await api.post('/1.1/login', { username: 'name1', password: PASSWORD });
        expect(body['sessionToken']).toBe(tokenOf(1));
        const game = (await master.get('/1.1/users/user5')).body['authData'];
        expect(game).toMatchObject({ my_game: { access_token: 'fresh' } });
      },
      IMPORT_MS,
    );

    it('keeps a user who has changed here', async () => {
      const change = await api.put('/1.1/users/user1', { nickName: 'Augusta' }, { session: tokenOf(1) });
      expect(change.status).toBe(200);
      expect(countsIn(await importExport('--apply'))['_User']).toMatchObject({ unchanged: 6, keptNewer: 1 });
      expect((await api.get('/1.1/users/user1')).body['nickName']).toBe('Augusta');
    });

    it('verifies what is here, and proves a password before anything is written', async () => {
      const verified = await gatepost(server(), 'import', 'verify', folder, '--app', app.id, '--json');
      expect(verified.status).toBe(2);
      expect(countsIn(verified)['_User']).toMatchObject({ objects: 8, here: 7, withPassword: 3, withSessionToken: 8 });
      const check = (input: string, name: string) =>
        gatepostReading(input, server(), 'import', folder, '--app', app.id, '--check', name, '--password-stdin');
      for (const name of ['name1', '1@example.com'])
        expect(await check(`${PASSWORD}\n`, name)).toMatchObject({ status: 0, stdout: 'The password is right.\n' });
      expect(await check(WEAK, '13800000002')).toMatchObject({ status: 0 });
      expect(await check('wrong', 'name1')).toMatchObject({ status: 1, stdout: 'The password is wrong.\n' });
      expect(await check('p', 'name8')).toMatchObject({ status: 1 });
    });

    it('previews the members of roles that are here, and of those that are only in the export', async () => {
      const rows = [user(9)].map((row) => JSON.stringify(row)).join('\n');
      const delta = newFolder('delta');
      writeFileSync(join(delta, '_User.0.jsonl'), rows);
      writeFileSync(join(delta, 'members.csv'), 'staff,name9\nstaff,name2\nstaff,name99\nnone,name9\n');
      const options = ['--app', app.id, '--json', '--role-members', join(delta, 'members.csv')];
      const run = (...more: string[]) =>
        gatepost(server(), 'import', join(delta, '_User.0.jsonl'), ...options, ...more);
      const [preview, done] = [await run(), await run('--apply')];
      expect(countsIn(done)).toEqual(countsIn(preview));
      expect(countsIn(done)['_Role members']).toMatchObject({ imported: 2, refused: 2 });
    });

    it('ends with status 0 where every row is in, and with 1 where there is no such application', async () => {
      const only = join(folder, '_Installation.0.jsonl');
      const run = (id: string) => gatepost(server(), 'import', only, '--app', id, '--apply');
      expect((await run(app.id)).status).toBe(0);
      const missing = await run('no-such-application');
      expect(missing.status).toBe(1);
      expect(missing.stderr).toContain('apps create');
    });

    it('hashes the old hashes where it is asked to, and the password is right still', async () => {
      const other = await createApplication(server());
      const wrapping = await gatepost(server(), 'import', folder, '--app', other.id, '--apply', '--wrap-passwords');
      expect(wrapping.status).toBe(2);
      const client = ApiClient.forApp(server().baseUrls[0] ?? '', other);
      const logIn = (password: string) => client.post('/1.1/login', { username: 'name1', password });
      await eventually(async () => {
        expect((await logIn(PASSWORD)).body['sessionToken']).toBe(tokenOf(1));
      });
      expect((await logIn('wrong')).body['code']).toBe(210);
    });
  });
}
