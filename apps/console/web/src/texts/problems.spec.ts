import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { en } from './en';
import { zh } from './zh';

const ROOT = join(import.meta.dirname, '../../../../..');
/** Whom the routes of the console ask, and what these are made of. */
const ASKED = [
  ...['accounts', 'auth-linking', 'console', 'mail', 'push-delivery'].map((app) => `apps/${app}/src`),
  ...['admission', 'bootstrap', 'database', 'messaging', 'objects', 'outbound', 'security'].map(
    (lib) => `libs/${lib}/src`,
  ),
];

/** The operator's input is wrong in a way that the server's own sentence names: it follows a sentence of the page. */
const NAMED_BY_THE_SERVER = [
  ...['INVALID_QUERY', 'GEO_POINT_QUERY', 'INVALID_ACL', 'INVALID_CHANNEL', 'INVALID_DEVICE_TOKEN', 'INVALID_KEY_NAME'],
  ...[
    'INVALID_NESTED_KEY',
    'INVALID_RELATION',
    'INVALID_ROLE_NAME',
    'INCORRECT_TYPE',
    'KEY_REQUIRED',
    'MALFORMED_JSON',
  ],
  ...[
    'MALFORMED_POINTER',
    'NOT_SUPPORTED',
    'OBJECT_TOO_LARGE',
    'PASSWORD_MISSING',
    'PAYLOAD_TOO_LARGE',
    'READ_ONLY_KEY',
  ],
  ...['ROLE_ACL_REQUIRED', 'UNIQUE_FIELD_TAKEN', 'USERNAME_MISSING'],
  ...['IDENTITY_MISSING', 'INVALID_IDENTITY', 'INVALID_WEIXIN_IDENTITY'],
];
/** Answers to a user's client alone: to its login, its code, or its requests without the master key. */
const OF_CLIENTS = ['CLIENT_NOT_ALLOWED', 'CLIENT_PUSH_OFF', 'EMAIL_UNVERIFIED', 'INVALID_SMS_CODE', 'LOCKED_OUT'];

function sourcesBelow(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.endsWith('spec.ts'))
    .map((name) => readFileSync(join(ROOT, folder, name), 'utf8'));
}

function errorsThatAreThrown(): string[] {
  const table = readFileSync(join(ROOT, 'libs/errors/src/errors.ts'), 'utf8');
  const names = new Set([...table.matchAll(/^ {2}([A-Z_]+): \{/gm)].map(([, name = '']) => name));
  const quoted = ASKED.flatMap(sourcesBelow).flatMap((text) => text.match(/(?<=')[A-Z_]+(?=')/g) ?? []);
  return [...new Set(quoted)].filter((name) => names.has(name)).sort();
}

describe('the sentences of errors', () => {
  const thrown = errorsThatAreThrown();

  it('are there for each error that an operator can meet', () => {
    expect(thrown.length).toBeGreaterThan(60);
    const without = thrown.filter((name) => !(name in en.problems));
    expect(without).toEqual([...NAMED_BY_THE_SERVER, ...OF_CLIENTS].sort());
  });

  it('are Chinese in Chinese', () => {
    const [first] = Object.entries({ ...zh.problems, refused: zh.states.refused }).filter(
      ([, text]) => !/\p{Script=Han}/u.test(text),
    );
    expect(first).toBeUndefined();
    expect(Object.keys(zh.problems)).toEqual(Object.keys(en.problems));
  });
});
