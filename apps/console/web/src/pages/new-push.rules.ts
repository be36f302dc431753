import { type Condition, type Fields, whereOf } from '../parts/condition.rules';
import { momentOf } from '../parts/moments.rules';
import { type Json, listOf, optionalObjectOf } from '../parts/typed.rules';

/** Of an installation, as far as devices have them in common. */
export const INSTALLATION_FIELDS: Fields = {
  deviceType: 'text',
  channels: 'list',
  vendor: 'text',
  objectId: 'text',
  createdAt: 'time',
  updatedAt: 'time',
};

/** The fields of the form for a new push. */
export interface Draft {
  readonly audience: 'all' | 'channels' | 'where';
  /** Names of channels, separated by commas. */
  readonly channels: string;
  readonly condition: Condition;
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
  condition: { rows: [{ field: 'deviceType', operator: 'is', kind: 'text', text: 'android' }] },
  title: '',
  alert: '',
  more: '',
  when: 'now',
  at: '',
  expiresAfterHours: '',
};

const HOUR_S = 3_600;

/**
 * The body of `POST /1.1/push`; undefined while its condition is not complete.
 *
 * @param timeZone of the draft's times; undefined: that of the browser
 * @throws SyntaxError where a JSON text is none
 */
export function pushBodyOf(draft: Draft, timeZone: string | undefined): Record<string, unknown> | undefined {
  const more = optionalObjectOf(draft.more);
  const target = targetOf(draft);
  if (target === undefined) return undefined;
  const hours = Number(draft.expiresAfterHours);
  return {
    data: { ...more, alert: draft.alert, ...(draft.title === '' ? {} : { title: draft.title }) },
    ...target,
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

function targetOf({ audience, channels, condition }: Draft): Json | undefined {
  if (audience === 'channels') return { channels: listOf(channels) };
  if (audience === 'all') return {};
  const where = whereOf(condition);
  return where && { where };
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
