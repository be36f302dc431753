import { z } from 'zod';
import { installationId, type JsonValue } from '#contracts';
import { appError } from '#errors';
import { incorrect, type ObjectChanges, type ObjectRow, parseFlag } from '../class-definition.js';
import { defineClass } from '../object-class.js';
import type { FieldChange } from '../operations/change.js';
import { isStorableText } from '../values.js';

/** An installation as it is stored, without its application. `fields` holds `channels`, too. */
export interface InstallationRow extends ObjectRow {
  /** The id that the device has chosen; null for a device known only by its `deviceToken`. */
  readonly installationId: string | null;
  readonly deviceType: string | null;
  readonly deviceToken: string | null;
  /** Pushes skip installations that are not valid. */
  readonly valid: boolean;
  /** Why the answer of a push service has made the installation invalid. Absent unless it did; no answer shows it. */
  readonly invalidReason?: string | null;
}

export const DEVICE_TYPE = /^[A-Za-z][A-Za-z0-9_-]{0,31}$/;
/** The format of a token belongs to its provider. No provider uses spaces or more than 1,024 characters. */
const DEVICE_TOKEN = /^[\x21-\x7e]{1,1024}$/;
/** Letters, digits, `_ - =` and Chinese characters (specification, Installation); the empty name addresses all devices. */
const CHANNEL = /^[A-Za-z0-9_=\-\p{Script=Han}]*$/u;
const isChannel = (name: JsonValue): name is string => typeof name === 'string' && CHANNEL.test(name);

export function parseChannels(names: readonly JsonValue[]): string[] {
  return names.map((name) => {
    if (!isChannel(name)) throw appError('INVALID_CHANNEL');
    return name;
  });
}

/** Early LeanCloud allowed dots in names: one of them must not cost the device its other channels. */
function salvageChannels(names: JsonValue) {
  const valid = Array.isArray(names) ? names.filter(isChannel) : [];
  if (!Array.isArray(names) || valid.length === 0 || valid.length === names.length) return undefined;
  const left = `${names.length - valid.length} of ${names.length} names are left out`;
  return { value: valid, reason: `${left}: ${appError('INVALID_CHANNEL').message}` };
}

/** Every operation on channels takes a list of valid names. */
function parseChannelChange({ path, operation }: FieldChange): FieldChange {
  if (path.length > 1) throw appError('INVALID_KEY_NAME', { message: 'channels can only be changed as a whole.' });
  switch (operation.kind) {
    case 'delete':
      return { path, operation };
    case 'set':
      return { path, operation: parseChannelList(operation.value) };
    case 'add':
    case 'addUnique':
    case 'remove':
      return { path, operation: { kind: operation.kind, objects: parseChannels(operation.objects) } };
    case 'increment':
    case 'bits':
      throw incorrect('channels', 'The operation cannot be used on this field.');
  }
}

function parseChannelList(value: JsonValue): FieldChange['operation'] {
  if (value === null) return { kind: 'delete' };
  if (!Array.isArray(value)) throw incorrect('channels', 'The value must be a list of names.');
  return { kind: 'set', value: parseChannels(value) };
}

function parseInstallationId(value: JsonValue): string {
  const { success, data } = installationId.safeParse(value);
  if (!success || data.trim() === '' || !isStorableText(data))
    throw incorrect('installationId', 'The value must be a string of 1 to 128 characters that are not all spaces.');
  return data;
}

function parseDeviceType(value: JsonValue): string {
  if (typeof value !== 'string' || !DEVICE_TYPE.test(value))
    throw incorrect('deviceType', 'The value must be a short name such as "android".');
  return value;
}

function parseDeviceToken(value: JsonValue): string {
  if (typeof value !== 'string' || !DEVICE_TOKEN.test(value)) throw appError('INVALID_DEVICE_TOKEN');
  return value;
}

const channels = z
  .array(z.string())
  .describe('Channel names of letters, digits, `_`, `-`, `=` and Chinese characters.');
const channelChange = z.union([
  channels,
  z.looseObject({ __op: z.enum(['Add', 'AddUnique', 'Remove', 'Delete', 'Batch']) }),
]);

const webPush = z
  .looseObject({
    endpoint: z
      .string()
      .regex(/^https:\/\//)
      .max(2_048),
    keys: z.looseObject({ p256dh: z.string().length(87), auth: z.string().length(22) }),
  })
  .describe('The subscription of a browser, as `PushSubscription.toJSON` gives it.');

interface AddressFormat {
  readonly pattern: RegExp;
  readonly problem: string;
  readonly description: string;
}

/** A text that is set as a whole. An empty one and `null` remove it, as SDKs write them before a vendor has given a token. */
function addressFormat(name: string, { pattern, problem, description }: AddressFormat) {
  const schema = z.union([z.string().regex(pattern), z.literal('')]).describe(description);
  const parse = (change: FieldChange): FieldChange => {
    const { path, operation } = change;
    if (path.length > 1) throw incorrect(name, 'The field can only be changed as a whole.');
    if (operation.kind === 'delete') return change;
    if (operation.kind !== 'set') throw incorrect(name, 'The operation cannot be used on this field.');
    const { value } = operation;
    if (value === null || value === '') return { path, operation: { kind: 'delete' } };
    if (typeof value !== 'string' || !pattern.test(value)) throw incorrect(name, problem);
    return change;
  };
  return { schema, responseSchema: z.string().describe(description), parse };
}

function isRemoval(operation: FieldChange['operation']): boolean {
  return operation.kind === 'delete' || (operation.kind === 'set' && operation.value === null);
}

function parseBadgeChange(change: FieldChange): FieldChange {
  const { path, operation } = change;
  const problem = 'The value must be a whole number from 0 on, or the operation Increment.';
  if (path.length > 1) throw incorrect('badge', problem);
  if (isRemoval(operation)) return { path, operation: { kind: 'delete' } };
  if (operation.kind === 'increment' && Number.isSafeInteger(operation.amount))
    return { path, operation: { ...operation, atLeast: 0 } };
  const isNumber = operation.kind === 'set' && Number.isSafeInteger(operation.value) && Number(operation.value) >= 0;
  if (!isNumber) throw incorrect('badge', problem);
  return change;
}

const badge = z.number().int().min(0).describe('The number on the icon of an Apple app.');

const ADDRESS_FORMATS = {
  vendor: addressFormat('vendor', {
    pattern: /^[^\p{Cc}]{1,32}$/u,
    problem: 'The value must be a name of up to 32 characters such as "HMS", "mi" or "fcm".',
    description:
      'The push service of the device: `fcm`, `HMS`, `honor`, `mi`, `mi-intl`, `mz`, `oppo`, `vivo`, or `lc`: none.',
  }),
  registrationId: addressFormat('registrationId', {
    pattern: /^[\x21-\x7e]{1,1024}$/,
    problem: 'The value must be the token of the vendor: up to 1,024 visible ASCII characters.',
    description: "The token of the vendor's push service.",
  }),
  deviceProfile: addressFormat('deviceProfile', {
    pattern: /^(?:_default|[A-Za-z][A-Za-z0-9_]{0,63})$/,
    problem: 'The value must be letters, digits and _, and begin with a letter.',
    description: 'The credentials that the device belongs to (`gatepost vendors set --profile`).',
  }),
  apnsTopic: addressFormat('apnsTopic', {
    pattern: /^[A-Za-z0-9.-]{1,255}$/,
    problem: 'The value must be the bundle id of the app such as "com.example.app".',
    description: 'The bundle id of an Apple app.',
  }),
  apnsTeamId: addressFormat('apnsTeamId', {
    pattern: /^[^\p{Cc}]{1,64}$/u,
    problem: 'The value must be the team id, or another text of up to 64 characters.',
    description:
      'The team id of an Apple app. The SDKs for iOS require one also from apps without it, so any short text is stored.',
  }),
  badge: {
    schema: z.union([badge, z.looseObject({ __op: z.literal('Increment') })]),
    responseSchema: badge,
    parse: parseBadgeChange,
  },
};

/** A subscription is stored as a whole: its endpoint and its keys belong together. */
function parseWebPushChange(change: FieldChange): FieldChange {
  const { path, operation } = change;
  if (path.length === 1 && isRemoval(operation)) return { path, operation: { kind: 'delete' } };
  if (path.length > 1 || operation.kind !== 'set')
    throw incorrect('webPush', 'The field can only be changed as a whole.');
  const { success, data } = webPush.safeParse(operation.value);
  if (!success || !URL.canParse(data.endpoint))
    throw incorrect(
      'webPush',
      'The value must be the subscription of a browser: an https endpoint, and keys with p256dh and auth.',
    );
  const { endpoint, keys } = data;
  return { path, operation: { kind: 'set', value: { endpoint, keys: { p256dh: keys.p256dh, auth: keys.auth } } } };
}

export const installationClass = defineClass<InstallationRow>()({
  name: '_Installation',
  table: 'push.installations',
  description: 'An app on a device.',
  fields: {
    installationId: {
      schema: installationId.describe('A unique name that the device chooses. It is a secret of the device.'),
      parse: parseInstallationId,
      isRemovable: true,
      query: { type: 'text', isNullable: true, isUnique: true },
    },
    deviceType: {
      schema: z.string().regex(DEVICE_TYPE).describe('`ios`, `android`, `web`, or a name that you choose.'),
      parse: parseDeviceType,
      isRemovable: true,
      query: { type: 'text', isNullable: true },
    },
    deviceToken: {
      schema: z.string().min(1).max(1024).describe('The token of a push provider. Unique for the `deviceType`.'),
      parse: parseDeviceToken,
      isRemovable: true,
      query: { type: 'text', isNullable: true },
    },
    valid: {
      schema: z.boolean().describe('Installations that are not valid receive no push. The default is `true`.'),
      parse: (value: JsonValue) => parseFlag('valid', value),
      initial: true,
      query: { type: 'boolean' },
    },
  },
  isFoundById: true,
  formats: {
    ...ADDRESS_FORMATS,
    webPush: { schema: webPush, responseSchema: webPush, parse: parseWebPushChange },
    channels: {
      schema: channelChange,
      responseSchema: channels,
      parse: parseChannelChange,
      salvage: salvageChannels,
    },
  },
});

export type InstallationChanges = ObjectChanges<(typeof installationClass)['definition']['fields']>;
