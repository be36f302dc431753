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

/** 25 characters of 0-9a-z (129 bits), as the client SDKs know session tokens. */
export const newSessionToken = (): string => randomText(BASE36, SESSION_TOKEN_LENGTH);
/** 25 characters of 0-9a-z (129 bits), as the API's own are; nobody has it yet. */
export const newUsername = (): string => randomText(BASE36, USERNAME_LENGTH);
/** 6 digits, as people type them from a text message. */
export const newSmsCode = (): string => String(randomInt(1_000_000)).padStart(6, '0');
export const newAppId = (): string => randomText(ALPHANUMERIC, APP_ID_LENGTH);
export const newAppKey = (): string => randomText(ALPHANUMERIC, APP_KEY_LENGTH);
