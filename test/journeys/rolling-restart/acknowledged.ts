import pg from 'pg';
import type { GatepostServer, SmtpSink } from '#testing';
import type { MixedLoad } from './mixed-load.js';

type Server = Pick<GatepostServer, 'env'>;

/** Each user whose score is not what was acknowledged, and each anonymous one that is not there. */
export async function lostWrites({ env }: Server, load: MixedLoad): Promise<string[]> {
  const client = new pg.Client({ connectionString: env['DATABASE_URL'] });
  await client.connect();
  const { rows } = await client.query<{ id: string; score: number | null }>(
    `SELECT object_id AS id, (fields ->> 'score')::int AS score FROM accounts.users`,
  );
  await client.end();
  const scores = new Map(rows.map(({ id, score }) => [id, score]));
  return [
    ...load.users.filter(({ id, score }) => scores.get(id) !== score).map(({ id, score }) => `${id}: ${score}`),
    ...load.anonymous.filter((id) => !scores.has(id)),
  ];
}

/** What was asked for, and how often each mail of it came. */
interface Mails {
  readonly missing: readonly string[];
  /** The most often that one mail, by its Message-ID, has come. */
  readonly mostCopies: number;
}

/** Looks for the mails of a sign-up and of the request after it. */
export async function arrivedMails(sink: SmtpSink, load: MixedLoad): Promise<Mails> {
  const copies = new Map<string, number>();
  const byAddress = new Map<string, Set<string>>();
  for (const { to, messageId } of await sink.allMails()) {
    copies.set(messageId, (copies.get(messageId) ?? 0) + 1);
    for (const address of to) byAddress.set(address, (byAddress.get(address) ?? new Set()).add(messageId));
  }
  const missing = load.users
    .filter(({ email, isMailed }) => (byAddress.get(email)?.size ?? 0) < (isMailed ? 2 : 1))
    .map(({ email }) => email);
  return { missing, mostCopies: Math.max(...copies.values()) };
}
