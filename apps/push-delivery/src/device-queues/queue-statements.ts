import { BEHIND_ALL } from './device-queues.js';

/** Other writes wait only briefly for this many rows. */
export const BATCH_SIZE = 1_000;
/** As long as notifications: the dispatchers that copy the statistics may be down. */
const KEPT = "interval '7 days'";

export const FIND_MARK = `SELECT position FROM push.marks WHERE app_id = $1 AND message_id = $2 AND partition = $3`;

export const PUT_MESSAGE = `
  INSERT INTO push.messages (seq, id, app_id, expires_at, bodies, body) VALUES ($1, $2, $3, $4, $5, $6)
  ON CONFLICT DO NOTHING`;

export const MOVE_MARK = `
  INSERT INTO push.marks (app_id, message_id, partition, position, kept_until)
  VALUES ($1, $2, $3, $4, $5::timestamptz + ${KEPT})
  ON CONFLICT ON CONSTRAINT marks_pkey DO UPDATE SET position = excluded.position`;

export const COUNT_ENQUEUED = `
  INSERT INTO push.tallies (app_id, message_id, platform, enqueued, kept_until)
  SELECT $1, $2, platform, count(*), $4::timestamptz + ${KEPT} FROM unnest($3::text[]) AS device(platform) GROUP BY platform
  ON CONFLICT ON CONSTRAINT tallies_pkey DO UPDATE SET enqueued = tallies.enqueued + excluded.enqueued`;

export const ENQUEUE = `
  INSERT INTO push.queued_messages (app_id, installation_id, seq, platform)
  SELECT $1, installation_id, $2, platform FROM unnest($3::text[], $4::text[]) AS device(installation_id, platform)
   WHERE $5::timestamptz > clock_timestamp()
  ON CONFLICT DO NOTHING`;

export const FIND_FULL = `
  SELECT installation_id AS "installationId" FROM push.queued_messages
   WHERE app_id = $1 AND installation_id = ANY ($2) GROUP BY installation_id HAVING count(*) > $3`;

export const REMOVE_EXPIRED_OF = `
  DELETE FROM push.queued_messages queued USING push.messages message
   WHERE queued.app_id = $1 AND queued.installation_id = ANY ($2) AND message.seq = queued.seq
     AND message.expires_at <= clock_timestamp()`;

/** Counted for the message's push, and for the device's gap. Positions begin at the time in microseconds, so none is used again. */
export const DROP_OLDEST = `
  WITH placed AS (
    SELECT installation_id, seq, row_number() OVER (PARTITION BY installation_id ORDER BY seq DESC) AS place
      FROM push.queued_messages WHERE app_id = $1 AND installation_id = ANY ($2)
  ), dropped AS (
    DELETE FROM push.queued_messages queued USING placed
     WHERE queued.app_id = $1 AND queued.installation_id = placed.installation_id AND queued.seq = placed.seq
       AND placed.place > $3
    RETURNING queued.installation_id, queued.seq, queued.platform
  ), counted AS (
    UPDATE push.tallies SET overflowed = overflowed + lost.count
      FROM (SELECT message.id, dropped.platform, count(*) AS count
              FROM dropped JOIN push.messages message ON message.seq = dropped.seq GROUP BY 1, 2) lost
     WHERE tallies.app_id = $1 AND tallies.message_id = lost.id AND tallies.platform = lost.platform
  )
  INSERT INTO push.dropped_messages (app_id, installation_id, count, expires_at, reported_up_to)
  SELECT $1, installation_id, count(*), $4, floor(extract(epoch FROM clock_timestamp()) * 1000000)
    FROM dropped GROUP BY installation_id
  ON CONFLICT ON CONSTRAINT dropped_messages_pkey DO UPDATE
    SET count = dropped_messages.count + excluded.count,
        expires_at = greatest(dropped_messages.expires_at, excluded.expires_at)`;

export const FIND_QUEUED = `
  SELECT queued.installation_id AS "installationId"
    FROM push.queued_messages queued JOIN push.messages message ON message.seq = queued.seq
   WHERE queued.app_id = $1 AND queued.seq = $2 AND queued.installation_id = ANY ($3)
     AND message.expires_at > clock_timestamp()`;

export const PEEK = `
  SELECT coalesce(drops.count, 0) AS dropped, coalesce(drops.reported_up_to + drops.count, 0)::float8 AS "droppedUpTo",
         coalesce((SELECT json_agg(ref) FROM (
           SELECT message.id, queued.platform, round(extract(epoch FROM message.expires_at) * 1000) AS "expiresAt"
             FROM push.queued_messages queued JOIN push.messages message ON message.seq = queued.seq
            WHERE queued.app_id = $1 AND queued.installation_id = $2 AND message.expires_at > clock_timestamp()
            ORDER BY queued.seq LIMIT $3) ref), '[]') AS refs
    FROM (VALUES (true)) AS one LEFT JOIN push.dropped_messages AS drops
      ON drops.app_id = $1 AND drops.installation_id = $2 AND drops.expires_at > clock_timestamp()`;

export const DESCRIBE = `
  SELECT (SELECT count(*)::int FROM push.queued_messages queued JOIN push.messages message ON message.seq = queued.seq
           WHERE queued.app_id = $1 AND queued.installation_id = device.id AND message.expires_at > clock_timestamp()) AS waiting,
         coalesce((SELECT count::int FROM push.dropped_messages
                    WHERE app_id = $1 AND installation_id = device.id AND expires_at > clock_timestamp()), 0) AS dropped
    FROM unnest($2::text[]) WITH ORDINALITY AS device(id, place) ORDER BY place`;

export const ACKNOWLEDGE = `
  WITH acknowledged AS (
    DELETE FROM push.queued_messages queued
     USING unnest($1::text[], $2::text[], $3::text[]) AS reported(app_id, installation_id, id), push.messages message
     WHERE message.id = reported.id AND queued.app_id = reported.app_id AND queued.installation_id = reported.installation_id
       AND queued.seq = message.seq
    RETURNING queued.app_id, message.id, queued.platform
  )
  UPDATE push.tallies SET acknowledged = tallies.acknowledged + arrived.count
    FROM (SELECT app_id, id, platform, count(*) AS count FROM acknowledged GROUP BY 1, 2, 3) arrived
   WHERE tallies.app_id = arrived.app_id AND tallies.message_id = arrived.id AND tallies.platform = arrived.platform`;

export const REPORT_DROPPED = `
  WITH reported AS (
    SELECT app_id, installation_id, max(up_to) AS up_to
      FROM unnest($1::text[], $2::text[], $3::bigint[]) AS reported(app_id, installation_id, up_to) GROUP BY 1, 2
  ), all_reported AS (
    DELETE FROM push.dropped_messages dropped USING reported
     WHERE dropped.app_id = reported.app_id AND dropped.installation_id = reported.installation_id
       AND dropped.reported_up_to + dropped.count <= reported.up_to
  )
  UPDATE push.dropped_messages dropped
     SET count = dropped.reported_up_to + dropped.count - reported.up_to, reported_up_to = reported.up_to
    FROM reported
   WHERE dropped.app_id = reported.app_id AND dropped.installation_id = reported.installation_id
     AND reported.up_to > dropped.reported_up_to AND reported.up_to < dropped.reported_up_to + dropped.count`;

export const FIND_MESSAGES = `
  SELECT id, app_id AS "appId", seq::float8 AS "order",
         floor(extract(epoch FROM expires_at) * 1000)::float8 AS "expiresAt", bodies, body
    FROM push.messages WHERE id = ANY ($1) AND expires_at > clock_timestamp()`;

export const CLEAR = `
  WITH device AS (SELECT * FROM unnest($1::text[], $2::text[]) AS device(app_id, installation_id)), drops AS (
    DELETE FROM push.dropped_messages USING device
     WHERE dropped_messages.app_id = device.app_id AND dropped_messages.installation_id = device.installation_id
  ), cleared AS (
    DELETE FROM push.queued_messages queued USING device
     WHERE queued.app_id = device.app_id AND queued.installation_id = device.installation_id
    RETURNING queued.app_id, queued.seq, queued.platform
  )
  UPDATE push.tallies SET overflowed = overflowed + lost.count
    FROM (SELECT cleared.app_id, message.id, cleared.platform, count(*) AS count
            FROM cleared JOIN push.messages message ON message.seq = cleared.seq
           WHERE message.expires_at > clock_timestamp() GROUP BY 1, 2, 3) lost
   WHERE tallies.app_id = lost.app_id AND tallies.message_id = lost.id AND tallies.platform = lost.platform`;

export const STATISTICS = `
  SELECT push.place::int, tally.platform, tally.enqueued, tally.acknowledged, tally.overflowed
    FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS push(app_id, id, place)
    JOIN push.tallies AS tally ON tally.app_id = push.app_id AND tally.message_id = push.id`;

/** The marks stay for an hour, because a batch may arrive late. */
export const FORGET = `
  WITH marks AS (
    UPDATE push.marks SET position = '${BEHIND_ALL}', kept_until = clock_timestamp() + interval '1 hour'
     WHERE app_id = $1 AND message_id = $2
  )
  DELETE FROM push.tallies WHERE app_id = $1 AND message_id = $2`;

/** In this order: a message is deleted once no queue holds it. */
export const REMOVE_EXPIRED: readonly string[] = [
  `DELETE FROM push.queued_messages WHERE (app_id, installation_id, seq) IN (
     SELECT queued.app_id, queued.installation_id, queued.seq
       FROM push.messages message JOIN push.queued_messages queued ON queued.seq = message.seq
      WHERE message.expires_at <= clock_timestamp() LIMIT ${BATCH_SIZE}) RETURNING 1`,
  `DELETE FROM push.messages WHERE seq IN (
     SELECT seq FROM push.messages message
      WHERE expires_at <= clock_timestamp()
        AND NOT EXISTS (SELECT 1 FROM push.queued_messages queued WHERE queued.seq = message.seq)
      LIMIT ${BATCH_SIZE}) RETURNING 1`,
  `DELETE FROM push.dropped_messages WHERE (app_id, installation_id) IN (
     SELECT app_id, installation_id FROM push.dropped_messages WHERE expires_at <= clock_timestamp() LIMIT ${BATCH_SIZE})
   RETURNING 1`,
  `DELETE FROM push.marks WHERE (app_id, message_id, partition) IN (
     SELECT app_id, message_id, partition FROM push.marks WHERE kept_until <= clock_timestamp() LIMIT ${BATCH_SIZE})
   RETURNING 1`,
  `DELETE FROM push.tallies WHERE (app_id, message_id, platform) IN (
     SELECT app_id, message_id, platform FROM push.tallies WHERE kept_until <= clock_timestamp() LIMIT ${BATCH_SIZE})
   RETURNING 1`,
];
