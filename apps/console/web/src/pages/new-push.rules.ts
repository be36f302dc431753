import { HIDDEN_ADDRESS, type PushDetails } from '#console-api';
import { type Condition, conditionOf, type Fields, whereOf } from '../parts/condition.rules';
import { momentOf } from '../parts/moments.rules';
import { isObject, type Json, listOf, optionalObjectOf } from '../parts/typed.rules';

/** Of an installation, as far as devices have them in common. */
export const INSTALLATION_FIELDS: Fields = {
  deviceType: 'text',
  channels: 'list',
  vendor: 'text',
  objectId: 'text',
  createdAt: 'time',
  updatedAt: 'time',
};

export const DEVICE_TYPES = ['ios', 'android', 'web', 'macos', 'tvos', 'watchos', 'wp'];
const APPLE = ['ios', 'macos', 'tvos', 'watchos'];

export interface MessageTexts {
  readonly title: string;
  readonly alert: string;
}

const EMPTY = {
  audience: 'all' as 'all' | 'channels' | 'where' | 'devices',
  channels: '',
  condition: { rows: [{ field: 'deviceType', operator: 'is', kind: 'text', text: 'android' }] } as Condition,
  /** Ids or tokens of devices, separated by commas or white space. */
  devices: '',
  title: '',
  alert: '',
  /** By device type, instead of the common texts. */
  texts: {} as Readonly<Record<string, MessageTexts>>,
  /** Further members of the message, as JSON. */
  more: '',
  when: 'now' as 'now' | 'later',
  /** In the operator's zone, as `datetime-local` gives it. */
  at: '',
  /** Hours after which the message expires; empty: the default of the server. */
  expiresAfterHours: '',
  /** Devices per second; empty: no limit. */
  pace: '',
  /** For the development environment of Apple devices, as the push that is sent again. */
  isDevelopment: false,
};

/** Its id is drawn for it, and is a part of its request ids. */
export type Draft = Readonly<typeof EMPTY & { id: string }>;

export const newDraft = (): Draft => ({ ...EMPTY, id: newId() });

export function draftOf({ data, where, lifeSeconds, flowControl, prod }: PushDetails): Draft {
  const { texts, others } = partsOf(data);
  return {
    ...newDraft(),
    ...audienceOf(where ?? {}),
    ...texts,
    ...byTypeOf(others),
    expiresAfterHours: lifeSeconds === DEFAULT_LIFE_S ? '' : String(lifeSeconds / HOUR_S),
    pace: flowControl === null ? '' : String(flowControl),
    isDevelopment: prod === 'dev',
  };
}

function byTypeOf(members: Json): Pick<Draft, 'more' | 'texts'> {
  const texts: Record<string, MessageTexts> = {};
  const more: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(members)) {
    const isBlock = DEVICE_TYPES.includes(name) && isObject(value) && !isObject(value['aps']);
    const block = isBlock ? partsOf(value) : { texts: undefined, others: value };
    if (block.texts !== undefined) texts[name] = block.texts;
    if (!isBlock || Object.keys(block.others as Json).length > 0) more[name] = block.others;
  }
  return { texts, more: Object.keys(more).length === 0 ? '' : JSON.stringify(more, undefined, 2) };
}

function partsOf(data: Json): { readonly texts: MessageTexts; readonly others: Json } {
  const isText = ([name, value]: [string, unknown]) =>
    ['title', 'alert'].includes(name) && typeof value === 'string' && value.trim() !== '';
  const pick = (wanted: boolean) =>
    Object.fromEntries(Object.entries(data).filter((member) => isText(member) === wanted));
  return { texts: { title: '', alert: '', ...(pick(true) as Partial<MessageTexts>) }, others: pick(false) };
}

/** An audience by an id of a device, which the record hides, has to be chosen anew. */
function audienceOf(where: Json): Partial<Draft> {
  const text = JSON.stringify(where, undefined, 2);
  if (text === '{}') return {};
  if (text.includes(JSON.stringify(HIDDEN_ADDRESS)))
    return { audience: 'where', condition: { rows: [{ field: '', operator: 'is', kind: 'text', text: '' }] } };
  return { audience: 'where', condition: conditionOf(text, INSTALLATION_FIELDS) };
}

const HOUR_S = 3_600;
const DEFAULT_LIFE_S = 7 * 24 * HOUR_S;

/**
 * The body of `POST /1.1/push`; undefined while its audience is not complete.
 *
 * @param timeZone of the draft's times; undefined: that of the browser
 * @throws SyntaxError where a JSON text is none
 */
export function pushBodyOf(draft: Draft, timeZone: string | undefined): Record<string, unknown> | undefined {
  const more = optionalObjectOf(draft.more);
  const target = targetOf(draft);
  if (target === undefined) return undefined;
  const texts = Object.entries(draft.texts).flatMap(([type, own]) => textsFor(type, own, more));
  const seconds = Math.round(Number(draft.expiresAfterHours) * HOUR_S);
  return {
    data: { ...more, ...membersOf(draft), ...Object.fromEntries(texts) },
    ...target,
    ...(draft.when === 'later' && draft.at !== '' ? { push_time: momentOf(draft.at, timeZone) } : {}),
    ...(seconds > 0 ? { expiration_interval: seconds } : {}),
    ...(draft.pace === '' ? {} : { flow_control: Number(draft.pace) }),
    ...(draft.isDevelopment ? { prod: 'dev' } : {}),
  };
}

function textsFor(type: string, own: MessageTexts, more: Json): [string, Json][] {
  const { alert: body, ...title } = membersOf(own);
  if (body === undefined && title['title'] === undefined) return [];
  const block = isObject(more[type]) ? more[type] : {};
  const aps = APPLE.includes(type) ? (block['aps'] ?? more['aps']) : undefined;
  // A message in Apple's own form has its texts there.
  if (isObject(aps)) return [[type, { ...block, aps: { ...aps, alert: { ...title, body } } }]];
  return [[type, { ...block, ...membersOf(own) }]];
}

function membersOf({ alert, title }: MessageTexts): Json {
  return Object.fromEntries(Object.entries({ alert, title }).filter(([, text]) => text.trim() !== ''));
}

export const newId = (): string => crypto.randomUUID().slice(0, 8);

/** The request id of a body: within a draft the same body gets the same one again, also after the page was loaded again. */
export function requestIdOf(draftId: string, body: Readonly<Record<string, unknown>>): string {
  // FNV-1a of 32 bits.
  let hash = 0x811c9dc5;
  for (const character of JSON.stringify(body)) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193);
  return draftId + (hash >>> 0).toString(16).padStart(8, '0');
}

/** Fields of an installation by which a device is named. */
const ADDRESSES = ['objectId', 'installationId', 'deviceToken'];

function targetOf({ audience, channels, condition, devices }: Draft): Json | undefined {
  if (audience === 'channels') return listOf(channels).length === 0 ? undefined : { channels: listOf(channels) };
  if (audience === 'all') return {};
  if (audience === 'devices') {
    const named = { $in: [...new Set(listOf(devices.replaceAll(/\s+/g, ',')))] };
    return named.$in.length === 0 ? undefined : { where: { $or: ADDRESSES.map((field) => ({ [field]: named })) } };
  }
  const where = whereOf(condition);
  return where && { where };
}

/** The same push as a command of the command line; undefined where it has none. */
export function commandOf(appId: string, body: Readonly<Record<string, unknown>>): string | undefined {
  const { data, channels, where, push_time: at, expiration_interval: seconds, flow_control: pace, prod } = body;
  if (prod !== undefined) return undefined;
  const parts = [`npm run gatepost -- push send ${appId} --data ${quoted(JSON.stringify(data))}`];
  if (Array.isArray(channels)) parts.push(`--channel ${channels.map((each) => quoted(String(each))).join(' ')}`);
  else parts.push(where === undefined ? '--all' : `--where ${quoted(JSON.stringify(where))}`);
  if (typeof at === 'string') parts.push(`--at ${at}`);
  if (typeof seconds === 'number') parts.push(`--expires-in ${seconds}`);
  if (typeof pace === 'number') parts.push(`--pace ${pace}`);
  return parts.join(' ');
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
