import { Injectable } from '@nestjs/common';
import { PushDatabase } from '../push-delivery.database.js';
import type { DeadToken, LaneAnswers, Settlement } from './settlement.rules.js';
import { END, NOW, sumOf, type VendorBatch } from './vendor-batches.repository.js';

export interface Settled {
  readonly areDoubtfulInvalid: boolean;
  readonly isNewlyDoubted: boolean;
}

@Injectable()
export class VendorSettlementRepository {
  constructor(private readonly database: PushDatabase) {}

  /** @param answers since the last record; undefined: recorded later @returns undefined if the lease is lost or the push removed: nothing is recorded */
  async settle(batch: VendorBatch, settlement: Settlement, answers?: LaneAnswers): Promise<Settled | undefined> {
    const { counts, reasons, doubtfulReasons, dead, proven, remaining, delayMs, isAttempt, isAnswered } = settlement;
    const [row] = await this.database.query<Settled & { isHeld: boolean }>(
      SETTLE,
      [
        batch.id,
        batch.lease,
        remaining.map(({ objectId }) => objectId),
        batch.badges === null ? null : remaining.map(({ badge }) => badge ?? 1),
        delayMs / 1_000,
        isAttempt ? 1 : 0,
        JSON.stringify(counts),
        JSON.stringify(reasons),
        JSON.stringify(dead satisfies readonly DeadToken[]),
        isAnswered ? 1 : 0,
        JSON.stringify(doubtfulReasons),
        proven,
        ...answerColumns(answers),
        batch.dueAt,
      ],
      'vendorBatches.settle',
    );
    return row?.isHeld === true ? row : undefined;
  }

  /** Ends batches that have expired in lanes that take none now: those of paused lanes wait. @returns by vendor, the number of devices */
  async expire(): Promise<
    readonly { readonly vendor: string; readonly devices: number; readonly isMoreDue: boolean }[]
  > {
    return this.database.query(EXPIRE, [], 'vendorBatches.expire');
  }
}

const EXPIRED_AT_ONCE = 500;

/** A batch with a lease stays, because its holder may still send it. */
const EXPIRE = `
  WITH over AS (
    SELECT id, app_id, object_id, split_part(lane, '/', 1) AS vendor, cardinality(targets) AS devices FROM push.vendor_batches AS batch
     WHERE expires_at <= now() AND lease_owner IS NULL AND NOT EXISTS (
       SELECT 1 FROM push.vendor_lanes AS known
        WHERE known.app_id = batch.app_id AND known.lane = batch.lane AND known.paused_at IS NOT NULL)
     ORDER BY expires_at LIMIT ${EXPIRED_AT_ONCE} FOR UPDATE OF batch SKIP LOCKED
  ), removed AS (
    DELETE FROM push.vendor_batches WHERE id IN (SELECT id FROM over)
  ), sums AS (
    SELECT app_id, object_id, vendor, sum(devices)::int AS devices FROM over GROUP BY 1, 2, 3
  ), counted AS (
    UPDATE push.vendor_counts AS known
       SET expired = known.expired + sums.devices, reasons = ${sumOf('known.reasons', `jsonb_build_object('expired', sums.devices)`)}
      FROM sums WHERE known.app_id = sums.app_id AND known.object_id = sums.object_id AND known.vendor = sums.vendor
  )
  SELECT vendor, sum(devices)::int AS devices, (SELECT count(*) = ${EXPIRED_AT_ONCE} FROM over) AS "isMoreDue"
    FROM sums GROUP BY vendor`;

function answerColumns(answers: LaneAnswers | undefined): readonly unknown[] {
  if (answers === undefined) return [null, 0, 0, 0];
  return [new Date(answers.version), answers.answers, answers.good, answers.doubtful];
}

const HALF_LIFE_SECONDS = 300;
const ENOUGH_ANSWERS = 50;
/** Share of doubtful among doubtful and good answers: above it, the credentials may be wrong. */
const MAX_DOUBTFUL_SHARE = 0.2;
/** Doubtful answers in a lane whose vendor has not accepted a token yet. */
const MAX_UNPROVEN = 10;

const IS_TOO_MANY = `doubtful > ${MAX_DOUBTFUL_SHARE} * (good + doubtful)`;

// A lane's doubt, decided under the lock of its row, for all senders. Doubtful tokens are dead where the operator trusts the lane, or where the
// vendor has accepted a token with these credentials and the lane is not in doubt; at Apple, which reports dead tokens with 410, they must also
// be few. Too many doubtful answers bring a lane into doubt, until enough answers in a row have few of them.
const JUDGE = `
  known AS (
    SELECT lane.*, CASE WHEN lane.doubted_at IS NULL
             THEN least(30, greatest(0, floor(extract(epoch FROM now() - lane.counted_since) / ${HALF_LIFE_SECONDS})))::int ELSE 0 END AS age
      FROM held JOIN push.vendor_lanes AS lane ON lane.app_id = held.app_id AND lane.lane = held.lane
     WHERE lane.credentials_at = $13::timestamptz FOR UPDATE OF lane
  ), counted_answers AS (
    SELECT app_id, lane, doubted_at, age, (answers >> age) + $14::int AS answers, (good >> age) + $15::int AS good,
           (doubtful >> age) + $16::int AS doubtful, is_proven OR $15::int > 0 AS is_proven,
           coalesce(trusted_until > now(), false) AS is_trusted
      FROM known
  ), examined AS (
    SELECT *, answers >= ${ENOUGH_ANSWERS} AS is_enough, ${IS_TOO_MANY} AS is_too_many FROM counted_answers
  ), judged AS (
    SELECT *, CASE WHEN is_trusted THEN NULL
                   WHEN doubted_at IS NULL THEN CASE WHEN (is_enough AND is_too_many) OR (NOT is_proven AND doubtful >= ${MAX_UNPROVEN}) THEN now() END
                   WHEN is_enough AND is_proven AND NOT is_too_many THEN NULL ELSE doubted_at END AS doubted_then
      FROM examined
  ), verdict AS (
    SELECT *, is_trusted OR (is_proven AND doubted_then IS NULL AND (NOT is_too_many OR lane NOT LIKE 'apns/%')) AS is_dead,
           is_trusted OR (doubted_at IS NULL) <> (doubted_then IS NULL) OR (doubted_at IS NOT NULL AND is_enough) AS starts_anew
      FROM judged
  ), remembered AS (
    UPDATE push.vendor_lanes AS lane
       SET doubted_at = verdict.doubted_then, is_proven = verdict.is_proven, used_at = now(),
           counted_since = CASE WHEN verdict.starts_anew THEN now()
                                ELSE lane.counted_since + make_interval(secs => ${HALF_LIFE_SECONDS} * verdict.age) END,
           answers = CASE WHEN verdict.starts_anew THEN 0 ELSE verdict.answers END,
           good = CASE WHEN verdict.starts_anew THEN 0 ELSE verdict.good END,
           doubtful = CASE WHEN verdict.starts_anew THEN 0 ELSE verdict.doubtful END
      FROM verdict WHERE lane.app_id = verdict.app_id AND lane.lane = verdict.lane
  )`;

const ARE_DEAD = 'coalesce((SELECT is_dead FROM verdict), false)';

const DOUBTFUL_REASONS = `
  (SELECT coalesce(jsonb_object_agg(key || CASE WHEN ${ARE_DEAD} THEN '' ELSE ' in doubt' END, value), '{}') FROM jsonb_each($11::jsonb))`;

/** While a lane is paused, each check of it starts the day of its batches anew. */
const NEW_END = `
  (SELECT ${END} FROM push.notifications AS push, push.vendor_lanes AS lane
    WHERE push.app_id = held.app_id AND push.object_id = held.object_id
      AND lane.app_id = held.app_id AND lane.lane = held.lane AND lane.paused_at IS NOT NULL)`;

// A token is dead only if it is the one that was sent to and the app has not saved the installation since: a device can register it again.
// Tokens of Apple devices that take development pushes belong to the other environment.
const SETTLE = `
  WITH held AS (
    SELECT id, app_id, object_id, lane, split_part(lane, '/', 1) AS vendor FROM push.vendor_batches
     WHERE id = $1 AND lease_owner = $2 FOR UPDATE
  ), ended AS (
    DELETE FROM push.vendor_batches AS batch USING held WHERE batch.id = held.id AND cardinality($3::text[]) = 0
  ), kept AS (
    UPDATE push.vendor_batches AS batch
       SET targets = $3, badges = $4::integer[], attempt = least(attempt + $6::int, 1000), key_no = least(key_no + $10::int, 1000),
           lease_owner = NULL, lease_until = NULL, expires_at = coalesce(${NEW_END}, batch.expires_at),
           next_at = ${NOW} + CASE WHEN batch.next_at = $17::timestamptz THEN make_interval(secs => $5) ELSE interval '0' END
      FROM held WHERE batch.id = held.id AND cardinality($3::text[]) > 0
  ), ${JUDGE}, counted AS (
    UPDATE push.vendor_counts AS known
       SET accepted = accepted + ($7::jsonb->>'accepted')::int, expired = expired + ($7::jsonb->>'expired')::int,
           invalid = invalid + ($7::jsonb->>'invalid')::int + CASE WHEN ${ARE_DEAD} THEN ($7::jsonb->>'doubtful')::int ELSE 0 END,
           rejected = rejected + ($7::jsonb->>'rejected')::int + CASE WHEN ${ARE_DEAD} THEN 0 ELSE ($7::jsonb->>'doubtful')::int END,
           reasons = ${sumOf('known.reasons', sumOf('$8::jsonb', DOUBTFUL_REASONS))}
      FROM held WHERE known.app_id = held.app_id AND known.object_id = held.object_id AND known.vendor = held.vendor
  ), developing AS (
    INSERT INTO push.development_devices (app_id, object_id)
    SELECT i.app_id, i.object_id FROM held JOIN push.installations AS i ON i.app_id = held.app_id AND i.object_id = ANY ($12)
     WHERE held.lane LIKE 'apns/%/dev' ORDER BY i.object_id
    ON CONFLICT ON CONSTRAINT development_devices_pkey DO NOTHING
  ), dead AS (
    SELECT i.app_id, i.object_id, one.reason
      FROM held, jsonb_to_recordset($9::jsonb) AS one ("objectId" text, token text, reason text, since timestamptz, "isDoubtful" boolean),
           push.installations AS i
     WHERE i.app_id = held.app_id AND i.object_id = one."objectId" AND i.valid
       AND one.token IN (i.device_token, i.fields->>'registrationId', i.fields->>'webPush')
       AND (one.since IS NULL OR i.updated_at < one.since)
       AND (NOT one."isDoubtful" OR (${ARE_DEAD} AND NOT EXISTS (
             SELECT 1 FROM push.development_devices AS known
              WHERE held.vendor = 'apns' AND known.app_id = i.app_id AND known.object_id = i.object_id)))
     ORDER BY i.object_id FOR NO KEY UPDATE OF i
  ), invalidated AS (
    UPDATE push.installations AS i SET valid = false, invalid_reason = dead.reason
      FROM dead WHERE i.app_id = dead.app_id AND i.object_id = dead.object_id
  )
  SELECT EXISTS (SELECT 1 FROM held) AS "isHeld", ${ARE_DEAD} AS "areDoubtfulInvalid",
         EXISTS (SELECT 1 FROM verdict WHERE doubted_at IS NULL AND doubted_then IS NOT NULL) AS "isNewlyDoubted"`;
