import { momentOf } from '../parts/moments.rules';

/** The fields of the form for a new push. */
export interface Draft {
  readonly audience: 'all' | 'channels' | 'where';
  /** Names of channels, separated by commas. */
  readonly channels: string;
  /** A condition of the REST API as JSON. */
  readonly where: string;
  readonly title: string;
  readonly alert: string;
  /** Further members of the message, as JSON. */
  readonly more: string;
  readonly when: 'now' | 'later';
  /** In the operator's zone, as `datetime-local` gives it. */
  readonly at: string;
  /** Hours after which the message expires; empty: the default of the server. */
  readonly expiresAfterHours: string;
}

export const EMPTY_DRAFT: Draft = {
  audience: 'all',
  channels: '',
  where: '{ "deviceType": "android" }',
  title: '',
  alert: '',
  more: '',
  when: 'now',
  at: '',
  expiresAfterHours: '',
};

const HOUR_S = 3_600;

/**
 * The body of `POST /1.1/push`.
 *
 * @param timeZone of the draft's times; undefined: that of the browser
 * @throws SyntaxError where a JSON text is none
 */
export function pushBodyOf(draft: Draft, timeZone: string | undefined): Record<string, unknown> {
  const more = objectOf(draft.more);
  const hours = Number(draft.expiresAfterHours);
  return {
    data: { ...more, alert: draft.alert, ...(draft.title === '' ? {} : { title: draft.title }) },
    ...targetOf(draft),
    ...(draft.when === 'later' && draft.at !== '' ? { push_time: momentOf(draft.at, timeZone) } : {}),
    ...(hours > 0 ? { expiration_interval: hours * HOUR_S } : {}),
  };
}

/** @returns the request id of a body: the same body gets the same one again */
export function requestIds(): (body: Readonly<Record<string, unknown>>) => string {
  const drawn = new Map<string, string>();
  return (body) => {
    const text = JSON.stringify(body);
    const id = drawn.get(text) ?? newRequestId();
    drawn.set(text, id);
    return id;
  };
}

/** At most 16 letters and digits, as the API takes it. */
const newRequestId = (): string => crypto.randomUUID().replaceAll('-', '').slice(-16);

function targetOf({ audience, channels, where }: Draft): Record<string, unknown> {
  if (audience === 'channels') return { channels: namesOf(channels) };
  return audience === 'where' ? { where: objectOf(where) } : {};
}

/** Names that commas separate. */
export function namesOf(text: string): string[] {
  return text
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '');
}

function objectOf(text: string): Record<string, unknown> {
  if (text.trim() === '') return {};
  const value: unknown = JSON.parse(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new SyntaxError('not a JSON object');
  return value as Record<string, unknown>;
}

/** The same push as a command of the command line. */
export function commandOf(appId: string, body: Readonly<Record<string, unknown>>): string {
  const { data, channels, where, push_time: at, expiration_interval: seconds } = body;
  const parts = [`npm run gatepost -- push send ${appId} --data ${quoted(JSON.stringify(data))}`];
  if (Array.isArray(channels)) parts.push(`--channel ${channels.map((each) => quoted(String(each))).join(' ')}`);
  else parts.push(where === undefined ? '--all' : `--where ${quoted(JSON.stringify(where))}`);
  if (typeof at === 'string') parts.push(`--at ${at}`);
  if (typeof seconds === 'number') parts.push(`--expires-in ${seconds}`);
  return parts.join(' ');
}

/** For a shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
