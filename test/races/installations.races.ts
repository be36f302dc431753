import { describe, expect } from 'vitest';
import { type ApiClient, type ApiReply, type GatepostServer, type Json, unique } from '#testing';
import { outcomesOf, racesOn, repeated, type Round, times } from './race.js';

const MANY = 50;
const SEVERAL = 20;
const GONE = 404;
const PATHS = ['/1.1/installations', '/1.1/classes/_Installation'];

const pathOf = (index: number) => PATHS[index % PATHS.length] ?? '';
const newDevice = () => unique('device');
const newKeptId = () => unique('Kept_');
const newToken = () => ({ deviceType: 'ios', deviceToken: unique('').replaceAll('-', '').repeat(6).slice(0, 64) });
const idOf = ({ body }: ApiReply) => String(body['objectId']);
const adding = (channel: string) => ({ channels: { __op: 'AddUnique', objects: [channel] } });

const find = async (round: Round, condition: unknown) => {
  const where = encodeURIComponent(JSON.stringify(condition));
  return (await round.master().get(`/1.1/installations?where=${where}`)).body['results'] as Json[];
};
const expectRows = (round: Round, rows: number, installationId: unknown, deviceToken: unknown) =>
  round.expectStored(
    [{ rows }],
    'SELECT count(*)::int AS rows FROM push.installations WHERE app_id = $1 AND (installation_id = $2 OR device_token = $3)',
    installationId,
    deviceToken,
  );

/** A device has one installation, whatever it saves at the same time. */
export function describeInstallationRaces(server: () => GatepostServer): void {
  describe('registrations of a device at once', () => {
    const race = racesOn(server);

    race('by its name, its token, and both make one installation', async (round) => {
      const [installationId, token] = [newDevice(), newToken()];
      const identities = [{ installationId }, token, { installationId, ...token }];
      const replies = await round.atOnce(MANY, (api, index) => api.post(pathOf(index), identities[index % 3]));
      expect(replies.filter(({ status }) => status !== 200 && status !== 201)).toEqual([]);
      const [installation, ...others] = await find(round, { $or: [{ installationId }, token] });
      expect([others, installation]).toEqual([[], expect.objectContaining({ installationId, ...token })]);
      await expectRows(round, 1, installationId, token.deviceToken);
    });

    race('by its token make one installation', async (round) => {
      const token = newToken();
      const replies = await round.atOnce(SEVERAL, (api, index) => api.post(pathOf(index), token));
      expect(outcomesOf(replies)).toEqual([...repeated(SEVERAL - 1, 200), 201]);
      expect(new Set(replies.map(idOf)).size).toBe(1);
      await expectRows(round, 1, undefined, token.deviceToken);
    });

    race('under ids that are not there make one installation, beside registrations too', async (round) => {
      const [installationId, token] = [newDevice(), newToken()];
      const kept = [newKeptId(), newKeptId()];
      const send = (api: ApiClient, index: number) => {
        const fields = index % 2 === 0 ? { installationId } : { installationId, ...token };
        return index % 3 === 0
          ? api.post(pathOf(index), fields)
          : api.put(`${pathOf(index)}/${kept[index % 2] ?? ''}`, fields);
      };
      const replies = await round.atOnce(SEVERAL, send);
      expect(replies.filter(({ status }) => status !== 200 && status !== 201)).toEqual([]);
      expect(new Set(replies.map(idOf)).size).toBe(1);
      await expectRows(round, 1, installationId, token.deviceToken);
    });

    race('lose no channel', async (round) => {
      const installationId = newDevice();
      const channels = Array.from({ length: SEVERAL }, (_, index) => `channel${index}`).sort();
      const replies = await round.atOnce(SEVERAL, (api, index) =>
        api.post(pathOf(index), { installationId, ...adding(channels[index] ?? '') }),
      );
      expect(outcomesOf(replies)).toEqual([...repeated(SEVERAL - 1, 200), 201]);
      expect(new Set(replies.map(idOf)).size).toBe(1);
      const [installation] = await find(round, { installationId });
      expect((installation?.['channels'] as string[]).sort()).toEqual(channels);
      await expectRows(round, 1, installationId, undefined);
    });

    race('that swap the tokens of two end with one token each or none, and one of them has it', async (round) => {
      const tokens = [newToken(), newToken()];
      const ids: string[] = [];
      for (const token of tokens)
        ids.push(idOf(await round.api().post('/1.1/installations', { installationId: newDevice(), ...token })));
      const { swaps } = await round.cross({
        swaps: times(SEVERAL, (api, index) =>
          api.put(`/1.1/installations/${ids[index % 2] ?? ''}`, tokens[(index + 1) % 2]),
        ),
      });
      expect(swaps.filter(({ status }) => status !== 200 && status !== GONE)).toEqual([]);
      const left = await find(round, { objectId: { $in: ids } });
      expect(left.length).toBeGreaterThan(0);
      expect(new Set(left.map(({ deviceToken }) => deviceToken)).size).toBe(left.length);
      await round.expectStored(
        left
          .map(({ objectId, deviceToken }) => ({ object_id: objectId, device_token: deviceToken }))
          .sort((one, other) => (String(one.device_token) < String(other.device_token) ? -1 : 1)),
        `SELECT object_id, device_token FROM push.installations
          WHERE app_id = $1 AND (object_id = ANY($2) OR device_token = ANY($3)) ORDER BY device_token COLLATE "C"`,
        ids,
        tokens.map(({ deviceToken }) => deviceToken),
      );
    });
  });
}
