import { randomBytes } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  ApiClient,
  type ApiReply,
  appClient,
  createApplication,
  eventually,
  gatepost,
  type GatepostServer,
  type Json,
  masterClient,
  signUp,
  unique,
} from '#testing';
import { refusal } from './refusal.js';

const NO_INSTALLATION = [404, 101];
/** Settings and permissions work within a second. */
const EFFECTIVE_MS = 3_000;
const newId = () => randomBytes(12).toString('hex');
const newDevice = () => unique('device');
const newToken = () => unique('').replaceAll('-', '').repeat(6).slice(0, 64);
const idOf = ({ body }: ApiReply) => String(body['objectId']);
const where = (condition: unknown) => `where=${encodeURIComponent(JSON.stringify(condition))}`;

/** SDKs such as Java's and C#'s keep the id of their installation for good, and send PUT to no other. */
export function describeKeptInstallations(server: () => GatepostServer): void {
  describe.each(['/1.1/installations', '/1.1/classes/_Installation'])('PUT %s/<an id that is not there>', (path) => {
    let api: ApiClient;
    let master: ApiClient;
    beforeAll(() => {
      [api, master] = [appClient(server()), masterClient(server())];
    });
    const put = (id: string, fields: Json, query = '') => api.put(`${path}/${id}${query}`, fields);
    const stateOf = async (id: string) => (await master.get(`${path}/${id}`)).body;
    const countOf = async (condition: Json) =>
      (await master.get(`${path}?limit=0&count=1&${where(condition)}`)).body['count'];

    it('makes the installation of the named device under this id, as Java sends it, and changes it from then on', async () => {
      const [id, installationId] = [newId(), newDevice()];
      const whole = { installationId, deviceType: 'android', timeZone: 'Asia/Shanghai', channels: ['news'] };
      const first = await put(id, whole, '?fetchWhenSave=true');
      expect([first.status, first.body]).toEqual([
        200,
        { ...whole, objectId: id, updatedAt: expect.any(String) as string },
      ]);
      const made = await stateOf(id);
      expect(made).toEqual({ ...first.body, valid: true, createdAt: first.body['updatedAt'] });

      const second = await put(id, { ...whole, channels: ['news', 'staff'] });
      expect(Object.keys(second.body).sort()).toEqual(['objectId', 'updatedAt']);
      const again = await api.post(path, whole);
      expect([again.status, idOf(again)]).toEqual([200, id]);
      expect(await countOf({ installationId })).toBe(1);
    });

    it.each(['a-b_C', '_', '-', 'x'.repeat(64), 'constructor', 'prototype', 'me', 'self'])(
      'takes the id %s',
      async (id) => {
        const installationId = newDevice();
        expect(idOf(await put(id, { installationId }))).toBe(id);
        expect(await stateOf(id)).toMatchObject({ objectId: id, installationId });
      },
    );

    it.each(['a!b', 'a.b', 'a%20b', 'x'.repeat(65), '__proto__', '%E4%BD%A0', 'a,b'])(
      'makes nothing under the id %s, which is none',
      async (id) => {
        const installationId = newDevice();
        expect(await refusal(put(id, { installationId }))).toEqual(NO_INSTALLATION);
        expect(await countOf({ installationId })).toBe(0);
      },
    );

    it('finds a device by its token too', async () => {
      const [id, token] = [newId(), { deviceType: 'ios', deviceToken: newToken() }];
      expect(idOf(await put(id, token))).toBe(id);
      expect(idOf(await put(newId(), token))).toBe(id);
      expect(await countOf({ deviceToken: token.deviceToken })).toBe(1);
    });

    it('changes the installation that the device has already, and answers its id', async () => {
      const [installationId, kept] = [newDevice(), newId()];
      const known = idOf(await api.post(path, { installationId, level: 1 }));
      const { status, body } = await put(kept, { installationId, level: 2 }, '?new=true');
      expect([status, body]).toMatchObject([200, { objectId: known, level: 2 }]);
      expect([(await stateOf(known))['level'], await stateOf(kept)]).toEqual([2, {}]);
    });

    it('makes nothing where no device is named: 101, as ever', async () => {
      const id = newId();
      for (const fields of [{}, { level: 1 }, { installationId: null }, { installationId: '' }, { deviceType: 'ios' }])
        expect(await refusal(put(id, fields))).toEqual(NO_INSTALLATION);
      expect(await stateOf(id)).toEqual({});
    });

    it('refuses what a registration refuses, and makes nothing', async () => {
      const [id, installationId] = [newId(), newDevice()];
      expect(await refusal(put(id, { deviceToken: newToken() }))).toEqual([400, 113]);
      expect(await refusal(put(id, { installationId, channels: ['not good'] }))).toEqual([400, 112]);
      expect(await refusal(put(id, { installationId, objectId: id }))).toEqual([400, 117]);
      expect(await refusal(put(id, { installationId: 7 }))).toEqual([400, 111]);
      expect(await refusal(put(id, { installationId, level: 1 }, `?${where({ level: 1 })}`))).toEqual([400, 305]);
      expect([await stateOf(id), await countOf({ installationId })]).toEqual([{}, 0]);
    });

    it('reaches nothing that the ACL of the device’s installation keeps', async () => {
      const [owner, installationId] = [await signUp(api), newDevice()];
      const known = idOf(await api.post(path, { installationId, ACL: { [owner.id]: { read: true, write: true } } }));
      expect(await refusal(put(newId(), { installationId, level: 1 }))).toEqual([403, 403]);
      const { status, body } = await api.put(
        `${path}/${newId()}`,
        { installationId, level: 1 },
        { session: owner.session },
      );
      expect([status, body['objectId']]).toEqual([200, known]);
    });

    it('leaves the installation of another application with this id alone', async () => {
      const [id, installationId] = [newId(), newDevice()];
      await put(id, { installationId, level: 1 });
      const before = await stateOf(id);
      const other = await createApplication(server());
      const elsewhere = ApiClient.forApp(server().baseUrls[0] ?? '', other);
      expect(idOf(await elsewhere.put(`${path}/${id}`, { installationId, level: 2 }))).toBe(id);
      expect(await stateOf(id)).toEqual(before);
    });

    it('works in batches and in joint saves', async () => {
      const [first, second] = [newDevice(), newDevice()];
      const entry = (id: string, installationId: string) => ({
        method: 'PUT',
        path: `${path}/${id}`,
        body: { installationId },
      });
      const [one, two] = [newId(), `a-${newId()}`];
      const joint = await api.post('/1.1/batch/save', { requests: [entry(one, first), entry(two, second)] });
      expect(joint.body).toMatchObject({ [one]: { objectId: one }, [two]: { objectId: two } });
      const batch = await fetch(`${server().baseUrls[0] ?? ''}/1.1/batch`, {
        method: 'POST',
        headers: { 'x-lc-id': server().app.id, 'x-lc-key': server().app.appKey },
        body: JSON.stringify({ requests: [entry(newId(), first), entry(newId(), newDevice())] }),
      });
      expect(await batch.json()).toMatchObject([{ success: { objectId: one } }, { success: {} }]);
    });
  });

  describe('PUT of an installation that is not there, and class permissions', () => {
    it('are those of creating it, or of changing the one that the device has', async () => {
      const app = await createApplication(server());
      const api = ApiClient.forApp(server().baseUrls[0] ?? '', app);
      const allow = (operation: string, who: string) =>
        gatepost(server(), 'permissions', 'set', app.id, '_Installation', operation, who);
      const put = (id: string, installationId: string) => api.put(`/1.1/installations/${id}`, { installationId });
      const [id, installationId] = [newId(), newDevice()];
      await allow('create', 'nobody');
      await eventually(async () => {
        expect(await refusal(put(newId(), newDevice()))).toEqual([403, 403]);
      }, EFFECTIVE_MS);
      expect(await refusal(put(id, installationId))).toEqual([403, 403]);
      await allow('create', 'everyone');
      await eventually(async () => {
        expect(idOf(await put(id, installationId))).toBe(id);
      }, EFFECTIVE_MS);
      await allow('update', 'nobody');
      await eventually(async () => {
        expect(await refusal(put(id, installationId))).toEqual([403, 403]);
      }, EFFECTIVE_MS);
      expect(await refusal(put(newId(), installationId))).toEqual([403, 403]);
      expect(await refusal(api.put(`/1.1/installations/${newId()}`, { level: 1 }))).toEqual([403, 403]);
    });
  });
}
