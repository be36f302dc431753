import { z } from 'zod';
import { type CredentialField, credentialFieldsOf, credentialSecret, credentialText } from './credential.schema.js';

const id = credentialText(255);
const secret = credentialSecret;

/**
 * What an application must know to have accounts of a platform verified, by kind of platform. A field with `isSecret` in its
 * metadata is never shown again (docs/platforms.md).
 */
export const PLATFORM_CREDENTIALS = {
  weixin: z.strictObject({ appId: id }),
  weibo: z.strictObject({ appKey: id }),
  qq: z.strictObject({ appId: id }),
  taptap: z.strictObject({ clientId: id }),
  lc_apple: z.strictObject({
    clientId: id.regex(/[^,\s]/, 'must name an id').describe('Bundle or service ids, joined by commas.'),
    teamId: id.optional(),
    keyId: id.optional(),
    privateKey: secret.optional().describe('The .p8 file, for codes without an identity token.'),
  }),
  lc_weapp: z.strictObject({ appId: id, appSecret: secret }),
  lc_qqapp: z.strictObject({ appId: id, appSecret: secret }),
  lc_baidu: z.strictObject({ appKey: id, appSecret: secret }),
  lc_alipay: z.strictObject({ appId: id, privateKey: secret }),
  lc_tt: z.strictObject({ appId: id, appSecret: secret }),
} as const;

/** A kind of platform that Gatepost knows: its accounts can be verified. Its name is the key in `authData`. */
export type PlatformKind = keyof typeof PLATFORM_CREDENTIALS;

export const PLATFORM_KINDS = Object.keys(PLATFORM_CREDENTIALS) as [PlatformKind, ...PlatformKind[]];

export type PlatformCredentials<Kind extends PlatformKind = PlatformKind> = z.output<
  (typeof PLATFORM_CREDENTIALS)[Kind]
>;

/** The fields of a kind's credentials. */
export function platformFields(kind: PlatformKind): CredentialField[] {
  return credentialFieldsOf(PLATFORM_CREDENTIALS[kind]);
}

/** Which platform gives out the union ids of a kind: mini programs share those of the platform that they run in. */
export function unionIdFamily(kind: PlatformKind): PlatformKind {
  return UNION_ID_FAMILIES.get(kind) ?? kind;
}

const UNION_ID_FAMILIES: ReadonlyMap<PlatformKind, PlatformKind> = new Map([
  ['lc_weapp', 'weixin'],
  ['lc_qqapp', 'qq'],
]);

export const platformKind = z.enum(PLATFORM_KINDS);

/** A key of `authData`: letters, digits and underscores. */
export const platformName = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,63}$/, 'must be letters, digits and _');
