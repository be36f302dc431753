import { describe, expect } from 'vitest';
import WebSocket from 'ws';
import { memoryStore, PushClient } from '#push-client';
import { ApiClient, eventually, type GatepostServer, unique } from '#testing';
import { DeviceFleet } from '../load/device-fleet.js';
import { outcomesOf, racesOn, repeated, type Round, times } from './race.js';

const DEVICES = 6;
const PUSHES = 4;
const IN_A_ROW = 12;
const TOMORROW_MS = 24 * 3_600_000;
const SHOWN_MS = 30_000;

const newChannel = () => unique('c').replaceAll('-', '');
/** By the master key, at the gateway whose turn it is. */
const push = ({ server }: Round, { baseUrl }: ApiClient, body: object) =>
  ApiClient.forMaster(baseUrl, server.app).post('/1.1/push', { data: { alert: 'race' }, ...body });

/** Devices of a round, all connected, until it ends. */
async function newFleet(round: Round, channel: string): Promise<DeviceFleet> {
  const { baseUrls, app } = round.server;
  const fleet = new DeviceFleet({
    server: baseUrls[0] ?? '',
    appId: app.id,
    appKey: app.appKey,
    size: DEVICES,
    channel,
  });
  round.atEnd(() => fleet.stop());
  await fleet.start();
  return fleet;
}

/** Every device's application has been shown the push, and once; so its record says. */
async function expectShownOnce(round: Round, fleet: DeviceFleet, pushId: string): Promise<void> {
  await eventually(() => {
    expect(fleet.reached(pushId), 'devices that have seen the push').toBe(DEVICES);
  }, SHOWN_MS);
  await eventually(async () => {
    const { body } = await round.master().get(`/1.1/notifications/${pushId}`);
    expect(body).toMatchObject({ status: 'done', devices: DEVICES, successes: DEVICES });
  }, SHOWN_MS);
  expect(fleet.repeated(pushId), 'devices that have seen the push twice').toBe(0);
}

/** Threats, section 3: no message is lost or comes twice, whatever its devices do meanwhile. */
export function describePushRaces(server: () => GatepostServer): void {
  describe('pushes', () => {
    const race = racesOn(server);

    race('are shown once to each device, also to those that leave and come back meanwhile', async (round) => {
      const channel = newChannel();
      const fleet = await newFleet(round, channel);
      await Promise.all([0, 1].map((device) => fleet.leave(device)));
      const move = async (device: number) => {
        if (device > 1) await fleet.leave(device);
        fleet.comeBack(device);
      };
      const [replies] = await Promise.all([
        round.atOnce(PUSHES, (api) => push(round, api, { channels: [channel] })),
        ...[0, 1, 2, 3].map(move),
      ]);
      expect(outcomesOf(replies)).toEqual(repeated(PUSHES, 200));
      for (const { body } of replies) await expectShownOnce(round, fleet, String(body['objectId']));
    });

    race('with one request id are one', async (round) => {
      const channel = newChannel();
      const fleet = await newFleet(round, channel);
      const body = { channels: [channel], req_id: newChannel().slice(0, 16) };
      const replies = await round.atOnce(20, (api) => push(round, api, body));
      expect(outcomesOf(replies)).toEqual(repeated(20, 200));
      const ids = [...new Set(replies.map(({ body: { objectId } }) => String(objectId)))];
      expect(ids).toHaveLength(1);
      await expectShownOnce(round, fleet, ids[0] ?? '');
      await round.expectStored(
        [{ pushes: 1 }],
        `SELECT count(*)::int AS pushes FROM push.notifications WHERE app_id = $1 AND target::text LIKE '%' || $2 || '%'`,
        channel,
      );
    });
  });

  describe('pushes in a row', () => {
    const race = racesOn(server);

    race(
      'reach each device in their order, to it alone or to many, also while it leaves and comes back',
      async (round) => {
        const channel = newChannel();
        const fleet = await newFleet(round, channel);
        const { body } = await round.master().get(`/1.1/installations?where={"channels":"${channel}"}&limit=1`);
        const [{ installationId } = { installationId: '' }] = body['results'] as { installationId: string }[];
        const targets = [{ channels: [channel] }, { where: { installationId } }, { where: { channels: channel } }];
        const moving = [0, 1, 2].map(async (device) => {
          await fleet.leave(device);
          fleet.comeBack(device);
        });
        const ids: string[] = [];
        for (let place = 0; place < IN_A_ROW; place += 1) {
          const reply = await push(round, round.api(place % 2), targets[place % targets.length] ?? {});
          ids.push(String(reply.body['objectId']));
        }
        await Promise.all(moving);
        const toAll = ids.filter((_, place) => place % targets.length !== 1);
        await eventually(() => {
          const lengths = fleet.sequences.map(({ length }) => length).sort((one, other) => one - other);
          expect(lengths).toEqual([...Array.from({ length: DEVICES - 1 }, () => toAll.length), ids.length]);
        }, SHOWN_MS);
        for (const shown of fleet.sequences) expect(shown).toEqual(shown.length === ids.length ? ids : toAll);
      },
    );
  });

  describe('two logins of a device at once', () => {
    const race = racesOn(server);

    race('leave one of them, which gets what is pushed', async (round) => {
      const { app, baseUrls } = round.server;
      const [store, channel] = [memoryStore(), newChannel()];
      const newClient = (onMessage: (id: string) => void = () => undefined) => {
        const client = new PushClient({
          server: baseUrls[0] ?? '',
          appId: app.id,
          registration: { appKey: app.appKey, fields: { channels: [channel] } },
          store,
          WebSocket,
          onMessage: ({ id }) => {
            onMessage(id);
          },
        });
        round.atEnd(() => client.stop());
        return client;
      };
      const first = newClient();
      first.start();
      await eventually(() => {
        expect(first.state).toBe('connected');
      }, SHOWN_MS);
      await first.stop();
      const shown: string[] = [];
      const clients = [newClient((id) => shown.push(id)), newClient((id) => shown.push(id))];
      for (const client of clients) client.start();
      await eventually(() => {
        expect(clients.map(({ state }) => state).sort()).toEqual(['connected', 'replaced']);
      }, SHOWN_MS);
      const { body } = await push(round, round.api(1), { channels: [channel] });
      await eventually(() => {
        expect(shown).toEqual([body['objectId']]);
      }, SHOWN_MS);
    });
  });
}

/** Where the database can be reached, a schedule ends when the race begins. */
export function describeScheduleRaces(server: () => GatepostServer): void {
  describe('a push that is cancelled when its time comes', () => {
    const race = racesOn(server);

    race('is shown to no device, or to all', async (round) => {
      const channel = newChannel();
      const fleet = await newFleet(round, channel);
      const time = new Date(Date.now() + TOMORROW_MS).toISOString();
      const { body } = await push(round, round.api(), { channels: [channel], push_time: time });
      const id = String(body['objectId']);
      const { body: scheduled } = await round.master().get('/1.1/scheduledPushMessages?limit=1000');
      const all = scheduled['results'] as { id: number; push_msg: { id: string } }[];
      const path = `/1.1/scheduledPushMessages/${all.find(({ push_msg: msg }) => msg.id === id)?.id ?? ''}`;
      await round.inDatabase('UPDATE push.notifications SET due_at = now() WHERE object_id = $1', id);
      const { cancels } = await round.cross({
        cancels: times(2, (api) => round.master(api).delete(path)),
        // Each wakes a dispatcher, which looks for what is due.
        others: times(2, (api) => push(round, api, { channels: [newChannel()] })),
      });
      const wasCancelled = cancels.some(({ status }) => status === 200);
      expect(outcomesOf(cancels)).toEqual(wasCancelled ? [101, 200] : [101, 101]);
      round.endedIn(wasCancelled ? 'cancelled' : 'shown');
      if (!wasCancelled) await expectShownOnce(round, fleet, id);
      const { body: last } = await push(round, round.api(1), { channels: [channel] });
      await expectShownOnce(round, fleet, String(last['objectId']));
      expect(fleet.reached(id)).toBe(wasCancelled ? 0 : DEVICES);
      await round.expectStored(
        wasCancelled ? [] : [{ status: 'done' }],
        'SELECT status FROM push.notifications WHERE app_id = $1 AND object_id = $2',
        id,
      );
    });
  });
}
