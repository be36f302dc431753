import { describe, expect, it } from 'vitest';
import { Sealer } from '#security';
import { newUsername, SessionTokens } from './session-tokens.js';

const sessions = new SessionTokens(new Sealer('the secret of one deployment, 32+'));

describe('generated values', () => {
  it.each([
    ['session tokens', () => sessions.create('a').token],
    ['usernames', newUsername],
  ])('%s have the format that SDKs expect, and are unique', (_, make) => {
    const made = Array.from({ length: 1_000 }, make);
    for (const text of made) expect(text).toMatch(/^[0-9a-z]{25}$/);
    expect(new Set(made).size).toBe(made.length);
  });
});
