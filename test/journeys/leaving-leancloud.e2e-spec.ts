import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import AV from 'leancloud-storage';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  ApiClient,
  type CommandOutcome,
  type GatepostServer,
  gatepost,
  gatepostReading,
  LeanCloudServer,
  newFolder,
  startStandalone,
  TcpProxy,
} from '#testing';

const JOURNEY_MS = 60_000;
const HTTP_PORT = 80;
const USERS = 300;
const PASSWORD = '密码 of many🔑';
const ADA = { username: 'ada', password: 'correct horse' };
const EVERYONE = { '*': true };
const CLOSED = { '*': false, users: [], roles: [] };

/** A member that the types of the library lack: its memory of the user, besides its storage. */
interface Memory {
  _currentUser: AV.User | null;
  _currentUserMatchesDisk: boolean;
}

/** The steps of docs/leaving-leancloud.md, in its order, with a client that knows one URL all the time. */
describe('an application that leaves LeanCloud', () => {
  let leancloud: LeanCloudServer;
  let server: GatepostServer;
  let domain: TcpProxy;
  let folder: string;
  let url: string;
  const clientUrl = () => domain.urlFor(url).replace(/\/$/, '');
  const rescued = () => join(folder, 'rescue');

  beforeAll(async () => {
    [leancloud, server] = await Promise.all([LeanCloudServer.start(), startStandalone()]);
    url = leancloud.url;
    domain = await TcpProxy.to(new URL(url), HTTP_PORT);
    folder = newFolder('leaving');
    leancloud.behaviour.exportPolls = 0;
    writeFileSync(join(folder, 'key'), leancloud.masterKey, { mode: 0o600 });
    const { store } = leancloud;
    const ids = Array.from(
      { length: USERS },
      (_, index) => store.putUser(`user${index}`, PASSWORD, { index }).objectId,
    );
    const { objectId: role } = store.put('_Role', { name: 'staff', ACL: { '*': { read: true } } });
    store.relate('_Role', role, 'users', ids.slice(0, 10));
    store.put('_Installation', { deviceType: 'ios', deviceToken: 'a'.repeat(64), valid: true });
    AV.init({ appId: leancloud.appId, appKey: leancloud.appKey, serverURL: clientUrl() });
    const user = new AV.User();
    user.setUsername(ADA.username);
    user.setPassword(ADA.password);
    await user.signUp();
  }, JOURNEY_MS);

  afterAll(async () => {
    await domain.close();
    await Promise.all([server.stop(), leancloud.stop()]);
  });

  const rescue = () =>
    gatepost(
      server,
      ...['rescue', '--url', url, '--id', leancloud.appId, '--master-key-file', join(folder, 'key')],
      ...['--out', rescued(), '--export-poll', '1', '--allow-internal', 'loopback'],
    );
  const importing = (...options: string[]) =>
    gatepost(server, 'import', rescued(), '--app', leancloud.appId, '--json', ...options);
  const clientOf = () =>
    ApiClient.forApp(server.baseUrls[0] ?? '', { ...server.app, id: leancloud.appId, appKey: leancloud.appKey });

  it('is copied, with passwords, sessions and members of roles', async () => {
    const { status, stdout, stderr } = await rescue();
    expect(stderr + stdout).toContain(`${USERS + 1} users: ${USERS + 1} with password, ${USERS + 1} with session`);
    expect(stdout).toContain('10 members');
    expect(status).toBe(0);
  });

  it('is created with the keys that its clients carry', async () => {
    const { appId, appKey, masterKey } = leancloud;
    const env = { ...server.env, GATEPOST_APP_KEY: appKey, GATEPOST_MASTER_KEY: masterKey };
    const { status, stdout } = await gatepost({ env }, 'apps', 'create', 'Shop', '--id', appId, '--given-keys');
    expect(stdout).toContain(appKey);
    expect(status).toBe(0);
  });

  it('is previewed without a change, and one password is checked', async () => {
    const preview = summaryOf(await importing());
    expect(preview).toMatchObject({ applied: false, classes: { _User: { imported: USERS + 1, refused: 0 } } });
    const known = ['import', rescued(), '--app', leancloud.appId, '--check', ADA.username, '--password-stdin'];
    expect((await gatepostReading(ADA.password, server, ...known)).stdout).toContain('The password is right.');
    expect((await gatepostReading('wrong', server, ...known)).status).toBe(1);
    const { body } = await clientOf().post('/1.1/login', ADA);
    expect(body['code']).toBe(211);
  });

  it('is verified before the import, of which a wrong file of members is named before it begins', async () => {
    const file = (name: string, ...lines: string[]) => {
      writeFileSync(join(folder, name), lines.join('\n'));
      return join(folder, name);
    };
    const versions = ['2020-01-01', '2020-01-02'].map((day) => {
      const times = { createdAt: '2020-01-01T00:00:00.000Z', updatedAt: `${day}T00:00:00.000Z` };
      return JSON.stringify({ objectId: 'twice', username: 'twice', ...times });
    });
    const twice = file('_User.jsonl', ...versions);
    const verified = await gatepost(server, 'import', 'verify', twice, '--app', leancloud.appId);
    expect([verified.status, verified.stdout]).toEqual([2, expect.stringContaining('1 in the export, 0 here')]);
    const wrong = await gatepost(server, 'import', 'verify', twice, '--app', 'another');
    expect([wrong.status, wrong.stderr]).toEqual([1, expect.stringMatching(/^There is no application another\./)]);

    const members = file('members.csv', 'staff,user1', 'staff');
    const { status, stderr } = await importing('--apply', '--role-members', members);
    expect([status, stderr]).toEqual([1, `${members}, line 2: expected ROLE,USERNAME-OR-ID.\n`]);
    expect((await clientOf().post('/1.1/login', ADA)).body['code']).toBe(211);
  });

  it('is imported, and verified', async () => {
    const { classes, warnings } = summaryOf(await importing('--apply'));
    expect(classes['_User']).toMatchObject({ imported: USERS + 1, refused: 0, importedWithout: 0 });
    expect(classes).toMatchObject({ _Role: { imported: 1 }, _Installation: { imported: 1 } });
    expect(warnings).toContainEqual(
      expect.stringMatching(/^ios: \d devices \(reached with credentials: gatepost vendors\)/),
    );
    const verified = await gatepost(server, 'import', 'verify', rescued(), '--app', leancloud.appId);
    expect(verified.stdout).toContain(`_User: ${USERS + 1} in the export, ${USERS + 1} here`);
    expect(verified.stdout).toContain('members of roles: 10 in the export, 10 here');
    expect(verified.status).toBe(0);
  });

  it('is not said to be whole where a member of a role is missing', async () => {
    const { appId, appKey, masterKey } = leancloud;
    const master = ApiClient.forMaster(server.baseUrls[0] ?? '', { id: appId, appKey, masterKey });
    const [role] = (await master.get('/1.1/roles')).body['results'] as { objectId: string }[];
    const [user] = leancloud.store.find('_User', { username: 'user1' });
    const objects = [{ __type: 'Pointer', className: '_User', objectId: user?.objectId }];
    await master.put(`/1.1/roles/${role?.objectId ?? ''}`, { users: { __op: 'RemoveRelation', objects } });
    const verify = () => gatepost(server, 'import', 'verify', rescued(), '--app', leancloud.appId);
    const { status, stdout } = await verify();
    expect([status, stdout]).toEqual([2, expect.stringContaining('members of roles: 10 in the export, 9 here')]);
    await importing('--apply');
    expect((await verify()).status).toBe(0);
  });

  it('is not said to be whole where its archive is cut', async () => {
    const [archive = ''] = readdirSync(join(rescued(), 'export')).filter((name) => name.startsWith('data-'));
    const bytes = readFileSync(join(rescued(), 'export', archive));
    const cut = join(folder, 'cut.tar.gz');
    writeFileSync(cut, bytes.subarray(0, bytes.length - 9));
    const imported = await gatepost(server, 'import', cut, '--app', leancloud.appId, '--apply');
    expect([imported.status, imported.stdout]).toEqual([2, expect.stringContaining('! The export is damaged')]);
    const verified = await gatepost(server, 'import', 'verify', cut, '--app', leancloud.appId);
    expect([verified.status, verified.stdout]).toEqual([2, expect.stringMatching(/^! .*(?:damaged|ends)/m)]);

    writeFileSync(cut, '');
    for (const command of [['import'], ['import', 'verify']]) {
      const { status, stdout } = await gatepost(server, ...command, rescued(), cut, '--app', leancloud.appId);
      expect([status, stdout]).toEqual([2, expect.stringMatching(/^! .* is empty/m)]);
    }
  });

  it('is not compared with LeanCloud by a wrong key, in plain English', async () => {
    writeFileSync(join(folder, 'wrong'), 'another-key', { mode: 0o600 });
    const { status, stdout, stderr } = await gatepost(
      server,
      ...['import', 'verify', rescued(), '--app', leancloud.appId, '--url', url],
      ...['--master-key-file', join(folder, 'wrong'), '--allow-internal', 'loopback'],
    );
    expect([status, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/^GET \/1\.1\/classes\/_User: LeanCloud answered 401 .*Check --id.*\n$/);
  });

  it('brings what came since, is compared with LeanCloud, and is opened again after the freeze', async () => {
    leancloud.store.permissions.set('_User', { create: CLOSED, update: CLOSED, get: EVERYONE });
    leancloud.store.putUser('latecomer', PASSWORD);
    const compare = () =>
      gatepost(
        server,
        ...['import', 'verify', rescued(), '--app', leancloud.appId, '--url', url],
        ...['--master-key-file', join(folder, 'key'), '--allow-internal', 'loopback'],
      );
    const early = await compare();
    expect([early.status, early.stdout]).toEqual([2, expect.stringContaining('the export has fewer rows')]);
    expect((await rescue()).status).toBe(0);
    expect(summaryOf(await importing('--apply')).classes['_User']).toMatchObject({ imported: 1 });
    const compared = await compare();
    expect(compared.stdout).toContain(`${USERS + 2} at the real service`);
    expect(compared.status).toBe(0);

    const signUp = () => clientOf().post('/1.1/users', { username: 'newcomer', password: PASSWORD });
    expect((await signUp()).status).toBe(403);
    await gatepost(server, 'permissions', 'set', leancloud.appId, '_User', 'create,update', 'everyone');
    expect((await signUp()).status).toBe(201);
  });

  it('keeps its users logged in when its name leads elsewhere', async () => {
    const before = await AV.User.logIn(ADA.username, ADA.password);
    const [token, calls] = [before.getSessionToken(), leancloud.calls.length];
    expect(await before.isAuthenticated()).toBe(true);
    expect(leancloud.calls.length).toBe(calls + 1);

    domain.switchTo(new URL(server.baseUrls[0] ?? ''), HTTP_PORT);
    // A restart of the app: only what the library has stored is left.
    Object.assign(AV.User as unknown as Memory, { _currentUser: null, _currentUserMatchesDisk: false });
    const user = await AV.User.currentAsync();
    expect([user.id, user.getSessionToken()]).toEqual([before.id, token]);
    expect(user).not.toBe(before);
    expect(await user.isAuthenticated()).toBe(true);
    await user.save({ color: 'green' });
    const itself = await new AV.Query(AV.User).get(user.id ?? '');
    expect([itself.get('username'), itself.get('color')]).toEqual([ADA.username, 'green']);
    expect(leancloud.calls.length).toBe(calls + 1);
  });

  it('lets users log in with the passwords that they have', async () => {
    const user = await AV.User.logIn('user7', PASSWORD);
    expect(user.get('index')).toBe(7);
    expect((await user.getRoles()).map((role) => role.getName())).toEqual(['staff']);
    await expect(AV.User.logIn('user8', 'wrong')).rejects.toMatchObject({ code: 210 });
  });
});

interface Summary {
  readonly applied: boolean;
  readonly classes: Record<string, Record<string, number>>;
  readonly warnings: readonly string[];
}

function summaryOf({ status, stdout, stderr }: CommandOutcome): Summary {
  expect([status, stderr]).toEqual([0, expect.not.stringContaining('error')]);
  return JSON.parse(stdout) as Summary;
}
