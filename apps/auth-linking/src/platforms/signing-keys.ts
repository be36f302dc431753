import { createPrivateKey, type KeyObject } from 'node:crypto';
import type { PlatformKind } from '#contracts';

type Fields = Readonly<Record<string, string>>;

const CODE_FIELDS = ['teamId', 'keyId', 'privateKey'] as const;

/** Invalid keys would be noticed only at a login, which then gets 503. Not in the schema: stored credentials may have them. */
const PROBLEMS: Readonly<Partial<Record<PlatformKind, (fields: Fields) => string | undefined>>> = {
  lc_apple: (fields) => {
    const missing = CODE_FIELDS.filter((name) => fields[name] === undefined);
    if (missing.length === CODE_FIELDS.length) return undefined;
    if (missing[0] !== undefined)
      return `${missing[0]}: is missing. Codes need teamId, keyId and privateKey; identity tokens need none of them.`;
    return appleKey(fields['privateKey'] ?? '') === undefined
      ? 'privateKey: must be the .p8 file that developer.apple.com has given for the key (a PEM text, curve P-256)'
      : undefined;
  },
  lc_alipay: ({ privateKey = '' }) =>
    alipayKey(privateKey) === undefined
      ? "privateKey: must be the app's RSA private key (PEM or Base64, PKCS #8 or PKCS #1)"
      : undefined,
};

/** The field and its problem, never its value. @param fields match the schema of the kind */
export function signingProblem(kind: PlatformKind, fields: Fields): string | undefined {
  return PROBLEMS[kind]?.(fields);
}

export function appleKey(text: string): KeyObject | undefined {
  const key = parsed(text);
  return key?.asymmetricKeyDetails?.namedCurve === 'prime256v1' ? key : undefined;
}

/** The platform's tools write keys as PEM or as bare Base64, in PKCS #8 or PKCS #1. */
export function alipayKey(text: string): KeyObject | undefined {
  const der = { key: Buffer.from(text, 'base64'), format: 'der' } as const;
  const keys = [text, { ...der, type: 'pkcs8' }, { ...der, type: 'pkcs1' }] as const;
  return keys.map(parsed).find((key) => key?.asymmetricKeyType === 'rsa');
}

function parsed(key: Parameters<typeof createPrivateKey>[0]): KeyObject | undefined {
  try {
    return createPrivateKey(key);
  } catch {
    return undefined;
  }
}
