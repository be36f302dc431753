import { ApiClient } from '#testing';
import { rowsOf } from '../load/account.js';
import type { Cluster } from '../load/cluster.js';
import type { DeviceFleet } from '../load/device-fleet.js';
import type { MixedLoad } from '../load/mixed-load.js';

interface PushRow {
  readonly id: string;
  readonly alert: string;
  readonly status: string;
}

/** The accepted pushes, including those whose sender got no answer. */
function pushRows(databaseUrl: string): Promise<PushRow[]> {
  return rowsOf(databaseUrl, `SELECT object_id AS id, data ->> 'alert' AS alert, status FROM push.notifications`);
}

/** Each push that was lost, is not over, was not shown to every device once, or was shown out of order. */
export async function wrongPushes(cluster: Cluster, load: MixedLoad, fleet: DeviceFleet): Promise<string[]> {
  const rows = await pushRows(cluster.env['DATABASE_URL'] ?? '');
  const known = new Set(rows.map(({ id }) => id));
  const alerts = new Set(rows.map(({ alert }) => alert));
  return [
    ...load.pushes.acknowledged.filter((id) => !known.has(id)).map((id) => `${id} was acknowledged and is not there`),
    ...fleet.shown.filter((id) => !known.has(id)).map((id) => `${id} was shown and is not there`),
    ...(alerts.size === rows.length ? [] : ['a request was accepted twice']),
    ...rows.flatMap((row) => wrongPush(row, fleet)),
    ...fleet.sequences.flatMap((shown, device) =>
      outOfOrder(shown, load).map((id) => `${id} was late on device ${device}`),
    ),
    ...(await Promise.all(rows.map(({ id }) => wrongCounts(cluster, id, fleet.size)))).flat(),
  ];
}

function wrongPush({ id, status }: PushRow, fleet: DeviceFleet): string[] {
  const [reached, repeated] = [fleet.reached(id), fleet.repeated(id)];
  return [
    ...(reached === fleet.size ? [] : [`reached ${reached} of ${fleet.size} devices`]),
    ...(repeated === 0 ? [] : [`was shown twice on ${repeated} devices`]),
    ...(status === 'done' ? [] : [`is ${status}`]),
  ].map((problem) => `${id} ${problem}`);
}

/** The counts of devices in the record of a push. */
async function wrongCounts({ url, app }: Cluster, id: string, size: number): Promise<string[]> {
  const { body } = await ApiClient.forMaster(url, app).get(`/1.1/notifications/${id}`);
  const counts = [body['status'], body['devices'], body['successes']].join(' ');
  return counts === `done ${size} ${size}` ? [] : [`${id} counts ${counts} instead of done ${size} ${size}`];
}

/** The pushes of a device that were shown after a push that was sent only after their answer. */
function outOfOrder(shown: readonly string[], { pushes }: MixedLoad): string[] {
  let latestMs = 0;
  return shown.filter((id) => {
    const { sentAt, answeredAt } = pushes.times.get(id) ?? { sentAt: 0, answeredAt: Infinity };
    const isLate = answeredAt < latestMs;
    latestMs = Math.max(latestMs, sentAt);
    return isLate;
  });
}
