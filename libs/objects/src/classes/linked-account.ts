import {
  ANONYMOUS_PLATFORM,
  type JsonObject,
  type JsonValue,
  MAX_UID_LENGTH,
  PLATFORM_KINDS,
  type PlatformKind,
} from '#contracts';
import { isStorableText } from '../values.js';

/** The member of an entry that holds its id. Mini programs send a code; their stored entries have the id under both names. */
const ID_MEMBERS: Readonly<Record<PlatformKind, 'openid' | 'uid' | 'either'>> = {
  weixin: 'openid',
  weibo: 'uid',
  qq: 'openid',
  taptap: 'openid',
  lc_apple: 'uid',
  lc_weapp: 'either',
  lc_qqapp: 'either',
  lc_baidu: 'either',
  lc_alipay: 'either',
  lc_tt: 'either',
};

/** The kind of a known key of `authData`, or of an application's own key whose `platform` names a known one (decisions). */
export function kindOfEntry(platform: string, entry: JsonObject): PlatformKind | undefined {
  const named = platform === ANONYMOUS_PLATFORM ? undefined : entry['platform'];
  return [platform, named]
    .map((name) => PLATFORM_KINDS.find((kind) => kind === name))
    .find((kind) => kind !== undefined);
}

/** The id of the account in an entry of `authData`. docs/decisions.md, "Third-party accounts", states the rules. */
export function uidOfEntry(platform: string, kind: PlatformKind | undefined, entry: JsonObject): JsonValue | undefined {
  const { uid, openid, id } = entry;
  if (platform === ANONYMOUS_PLATFORM) return id;
  if (kind === undefined || ID_MEMBERS[kind] === 'uid') return uid;
  return ID_MEMBERS[kind] === 'openid' && platform === kind ? openid : (uid ?? openid);
}

/** Whether a value can be an id or a union id of a platform. */
export function isUid(value: JsonValue | undefined): value is string {
  return typeof value === 'string' && value.trim() !== '' && value.length <= MAX_UID_LENGTH && isStorableText(value);
}
