import { createPrivateKey, createSign, type KeyObject } from 'node:crypto';
import type { PlatformCredentials } from '#contracts';
import { unavailable } from './platform-errors.js';

const CHINA_OFFSET_MS = 8 * 3_600_000;

/**
 * A call of Alipay's gateway, signed with the app's key (RSA2: SHA-256 with RSA over the sorted fields).
 *
 * @throws AppError SERVICE_UNAVAILABLE where the key among our credentials is none
 */
export function alipayForm(
  method: string,
  fields: Readonly<Record<string, string>>,
  { appId, privateKey }: PlatformCredentials<'lc_alipay'>,
): Record<string, string> {
  const form: Record<string, string> = {
    ...fields,
    app_id: appId,
    method,
    format: 'JSON',
    charset: 'utf-8',
    sign_type: 'RSA2',
    timestamp: chinaTime(Date.now()),
    version: '1.0',
  };
  const signed = Object.keys(form)
    .sort()
    .map((name) => `${name}=${form[name] ?? ''}`)
    .join('&');
  return { ...form, sign: createSign('RSA-SHA256').update(signed).sign(rsaKey(privateKey), 'base64') };
}

/** The platform's tools write keys as PEM or as its bare Base64, in PKCS#8 or PKCS#1. */
function rsaKey(text: string): KeyObject {
  for (const key of [
    text,
    { key: Buffer.from(text, 'base64'), format: 'der', type: 'pkcs8' },
    { key: Buffer.from(text, 'base64'), format: 'der', type: 'pkcs1' },
  ] as const) {
    const parsed = parseRsaKey(key);
    if (parsed !== undefined) return parsed;
  }
  throw unavailable('lc_alipay', 'the private key among our credentials is not readable');
}

function parseRsaKey(key: Parameters<typeof createPrivateKey>[0]): KeyObject | undefined {
  try {
    const parsed = createPrivateKey(key);
    return parsed.asymmetricKeyType === 'rsa' ? parsed : undefined;
  } catch {
    return undefined;
  }
}

/** Times of the platform are those of China: `2026-01-31 18:00:00`. */
function chinaTime(nowMs: number): string {
  return new Date(nowMs + CHINA_OFFSET_MS).toISOString().slice(0, 19).replace('T', ' ');
}
