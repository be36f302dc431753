import { randomInt } from 'node:crypto';

const BASE36 = '0123456789abcdefghijklmnopqrstuvwxyz';
const ALPHANUMERIC = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const SESSION_TOKEN_LENGTH = 25;
const USERNAME_LENGTH = 25;
const APP_ID_LENGTH = 24;
const APP_KEY_LENGTH = 24;

function randomText(alphabet: string, length: number): string {
  return Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join('');
}

/** 25 characters of 0-9a-z (129 bits), the format that client SDKs expect of session tokens. */
export const newSessionToken = (): string => randomText(BASE36, SESSION_TOKEN_LENGTH);
/** 25 characters of 0-9a-z (129 bits), the format of the original API; unique by chance. */
export const newUsername = (): string => randomText(BASE36, USERNAME_LENGTH);
export const newSmsCode = (): string => String(randomInt(1_000_000)).padStart(6, '0');
export const newAppId = (): string => randomText(ALPHANUMERIC, APP_ID_LENGTH);
export const newAppKey = (): string => randomText(ALPHANUMERIC, APP_KEY_LENGTH);
