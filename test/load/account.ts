import pg from 'pg';
import type { Letterbox } from './letterbox.js';
import type { LoadUser } from './load-user.js';
import type { MixedLoad } from './mixed-load.js';

interface UserRow {
  readonly id: string;
  readonly username: string;
  readonly score: number | null;
  readonly note: number | null;
  readonly isVerified: boolean | null;
  /** As `platform id`. */
  readonly identities: readonly string[];
}

/** Runs one statement. */
export async function rowsOf<Row extends pg.QueryResultRow>(databaseUrl: string, sql: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    return (await client.query<Row>(sql)).rows;
  } finally {
    await client.end();
  }
}

/** Each user that is not as it was acknowledged: not there, with another value, there twice, or never asked for. */
export async function wrongUsers(databaseUrl: string, load: MixedLoad): Promise<string[]> {
  const rows = await rowsOf<UserRow>(
    databaseUrl,
    `SELECT object_id AS id, username, (fields ->> 'score')::int AS score, (fields ->> 'note')::int AS note,
            email_verified AS "isVerified",
            ARRAY(SELECT platform || ' ' || uid FROM accounts.identities WHERE user_id = object_id) AS identities
       FROM accounts.users`,
  );
  const byName = new Map(rows.map((row) => [row.username, row]));
  const users = new Set(load.users.map(({ username }) => username));
  const isAskedFor = ({ username, identities }: UserRow) =>
    users.has(username)
      ? identities.length === 0
      : identities.length === 1 && load.anonymous.has(deviceOf(identities[0]!));
  return [
    ...load.users.flatMap((user) => wrongUser(user, byName.get(user.username))),
    ...[...load.anonymous].flatMap(([device, id]) => wrongAnonymous(device, id, rows)),
    ...rows.filter((row) => byName.get(row.username) !== row).map(({ username }) => `${username} is there twice`),
    ...rows.filter((row) => !isAskedFor(row)).map((row) => `unrequested row: ${JSON.stringify(row)}`),
  ];
}

/** The anonymous id; of another platform's identity, something that no anonymous id is. */
function deviceOf(identity: string): string {
  return identity.replace(/^anonymous /, '');
}

/** @param id undefined where the sign-up was not acknowledged: the user may be there or not */
function wrongAnonymous(device: string, id: string | undefined, rows: readonly UserRow[]): string[] {
  const owners = rows.filter(({ identities }) => identities.includes(`anonymous ${device}`));
  if (owners.length > 1) return [`anonymous user ${device} is there ${owners.length} times`];
  if (id === undefined || owners[0]?.id === id) return [];
  return [`anonymous user ${device}: ${owners[0]?.id ?? 'no user'} instead of ${id}`];
}

function wrongUser({ id, username, score, note, isVerified }: LoadUser, row: UserRow | undefined): string[] {
  if (row === undefined) return id === undefined ? [] : [`${username} is not there`];
  if (id !== undefined && id !== row.id) return [`${username} is another one`];
  return [
    ...(score.allows(row.score ?? -1) ? [] : [`score ${row.score} instead of ${String(score.values)}`]),
    ...(note.allows(row.note ?? -1) ? [] : [`note ${row.note} instead of ${String(note.values)}`]),
    ...(isVerified.allows(row.isVerified === true)
      ? []
      : [`verified: ${row.isVerified} instead of ${String(isVerified.values)}`]),
  ].map((problem) => `${username}: ${problem}`);
}

/** The outcome of the mails that were owed. */
export interface MailAccount {
  readonly owed: number;
  /** Of which some copy has come. */
  readonly sent: number;
  /** Copies beyond the first. */
  readonly repeated: number;
  /** Too few or too many to an address, to an unknown address, or more copies than allowed. */
  readonly problems: readonly string[];
}

interface Mailed {
  readonly databaseUrl: string;
  readonly load: MixedLoad;
  readonly letters: Letterbox;
  /** The number of copies beyond the first that may arrive in all: 0 without a crash. */
  readonly mayRepeat: number;
}

/**
 * Compares what has come with what was asked for, and with what the database says was granted: an allowance is taken in the transaction
 * that asks for the mail.
 */
export async function mailAccount({ databaseUrl, load, letters, mayRepeat }: Mailed): Promise<MailAccount> {
  await letters.fetch();
  const granted = await rowsOf<{ email: string; mails: number }>(
    databaseUrl,
    `SELECT email, COALESCE(cardinality(sent_at), 0) AS mails
       FROM accounts.users LEFT JOIN accounts.mail_allowances ON mailbox = email WHERE email IS NOT NULL`,
  );
  const owed = new Map(granted.map(({ email, mails }) => [email, mails]));
  const known = new Set(load.users.map(({ email }) => email));
  const copies = load.users.map(({ email }) => [...letters.copiesTo(email).values()]).flat();
  const repeated = copies.reduce((sum, count) => sum + count - 1, 0);
  const problems = [
    ...[...owed]
      .filter(([, mails]) => mails === 0)
      .map(([email]) => `${email}: there is a user, and no mail was granted`),
    ...load.users.flatMap((user) => wrongMails(user, owed.get(user.email) ?? 0, letters)),
    ...letters.addresses.filter((email) => !known.has(email)).map((email) => `${email}: no mail to it was requested`),
    ...(repeated <= mayRepeat ? [] : [`${repeated} mails came once more, and ${mayRepeat} may`]),
  ];
  return { owed: [...owed.values()].reduce((sum, mails) => sum + mails, 0), sent: copies.length, repeated, problems };
}

function wrongMails({ email, mails: { least, most } }: LoadUser, owed: number, letters: Letterbox): string[] {
  const copies = letters.copiesTo(email);
  const mostCopies = Math.max(0, ...copies.values());
  return [
    ...(copies.size === owed ? [] : [`${copies.size} mails of ${owed} that were granted`]),
    ...(copies.size >= least && copies.size <= most ? [] : [`${copies.size} mails, asked for ${least} to ${most}`]),
    ...(mostCopies <= 2 ? [] : [`a mail came ${mostCopies} times`]),
  ].map((problem) => `${email}: ${problem}`);
}
