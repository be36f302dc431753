import { describe, expect, it } from 'vitest';
import { newAppId, newAppKey, newSessionToken, newUsername } from './random-ids.js';

describe('ids', () => {
  it.each([
    ['session tokens', newSessionToken, /^[0-9a-z]{25}$/],
    ['usernames', newUsername, /^[0-9a-z]{25}$/],
    ['application ids', newAppId, /^[0-9A-Za-z]{24}$/],
    ['application keys', newAppKey, /^[0-9A-Za-z]{24}$/],
  ])('%s have their format and are unique', (_, make, form) => {
    const made = Array.from({ length: 1_000 }, make);
    for (const text of made) expect(text).toMatch(form);
    expect(new Set(made).size).toBe(made.length);
  });
});
