import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { jwtVerify } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  appClient,
  gatepost,
  gatepostReading,
  type GatepostServer,
  isProvided,
  masterClient,
  SERVERS,
  setSetting,
  signUp,
  startServices,
  startStandalone,
  useServer,
} from '#testing';

const SECRET = 'a-secret-that-only-the-servers-know-of';
const ENV = { GATEPOST_INTERNAL_NETWORKS: '127.0.0.1' };

describe('forwarding by the standalone server', () => {
  describeForwarding(useServer(() => startStandalone(ENV)));
});

describe.runIf(isProvided(...SERVERS))('forwarding by services', () => {
  describeForwarding(useServer(() => startServices({ gateway: 1, accounts: 1 }, ENV)));
});

function describeForwarding(server: () => GatepostServer): void {
  const received: IncomingHttpHeaders[] = [];
  const target = createServer(({ headers }, response) => {
    received.push(headers);
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"objectId":"5a"}');
  });
  const app = () => server().app;
  const set = (name: string, value: string) => gatepost(server(), 'apps', 'set', app().id, name, value);
  const post = () => appClient(server()).post('/1.1/classes/Post', { title: 'x' });
  const identity = async () => {
    const token = String(received.at(-1)?.['x-gatepost-identity']);
    return (await jwtVerify(token, new TextEncoder().encode(SECRET), { audience: app().id, issuer: 'gatepost' }))
      .payload;
  };

  beforeAll(() => new Promise<void>((resolve) => target.listen(0, '127.0.0.1', resolve)));
  afterAll(() => {
    target.closeAllConnections();
    target.close();
  });

  it('refuses URLs that are none, its own URL, and unknown settings', async () => {
    expect(await post()).toMatchObject({ status: 404, body: { code: 101 } });
    const own = server().baseUrls[0] ?? '';
    const refused: [string, string, RegExp][] = [
      ['forwardUrl', 'app.example.com', /must be a URL such as/],
      ['forwardPaths', '["/users"]', /must begin with \/1\.1\//],
      ['forwardUrls', 'https://a.b', /There is no setting "forwardUrls".*forwardSecret/s],
      ...(server().processes.length === 1
        ? [['forwardUrl', own.replace('127.0.0.1', 'localhost'), /Gatepost itself/] as [string, string, RegExp]]
        : []),
    ];
    for (const [name, value, error] of refused) {
      const { status, stderr } = await set(name, value);
      expect([status, stderr]).toEqual([1, expect.stringMatching(error)]);
    }
  });

  it('takes the secret from standard input only, and never shows it', async () => {
    const plain = await set('forwardSecret', SECRET);
    expect([plain.status, plain.stderr]).toEqual([1, expect.stringMatching(/is a secret.*@path/)]);
    const short = await gatepostReading('short', server(), 'apps', 'set', app().id, 'forwardSecret', '-');
    expect([short.status, short.stderr]).toEqual([1, expect.stringMatching(/32 to 1,024/)]);
    const { status, stdout } = await gatepostReading(
      `${SECRET}\n`,
      server(),
      'apps',
      'set',
      app().id,
      'forwardSecret',
      '-',
    );
    expect([status, stdout]).toEqual([0, 'forwardSecret is set.\n']);
    const shown = await gatepost(server(), 'apps', 'show', app().id);
    expect(shown.stdout).toMatch(/forwardSecret\s+\(secret\)/);
    const all = [plain, short, shown].map((outcome) => outcome.stdout + outcome.stderr).join('') + server().main.stderr;
    expect(all).not.toContain(SECRET);
  });

  it('passes requests on with the user and the roles of the session', async () => {
    await setSetting(server(), app(), 'forwardUrl', `http://127.0.0.1:${(target.address() as AddressInfo).port}`);
    const { id, session } = await signUp(appClient(server()));
    const pointer = { __type: 'Pointer', className: '_User', objectId: id };
    const users = { __op: 'AddRelation', objects: [pointer] };
    const role = { name: 'editors', ACL: { '*': { read: true } }, users };
    expect((await masterClient(server()).post('/1.1/roles', role)).status).toBe(201);
    const reply = await appClient(server()).post('/1.1/classes/Post', { title: 'x' }, { session });
    expect(reply).toMatchObject({ status: 200, body: { objectId: '5a' } });
    expect(await identity()).toMatchObject({ sub: id, roles: ['editors'], master: false });
    await post();
    expect((await identity()).sub).toBeUndefined();
    await appClient(server()).post('/1.1/classes/Post', {}, { session: 'invalid' });
    expect((await identity()).sub).toBeUndefined();
  });

  it('stops with the secret and the setting', async () => {
    expect((await set('forwardSecret', '')).stdout).toBe('forwardSecret is removed.\n');
    await post();
    expect(received.at(-1)).not.toHaveProperty('x-gatepost-identity');
    await set('forwardUrl', '');
    expect((await post()).status).toBe(404);
  });
}
