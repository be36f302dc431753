import { describe, expect, it } from 'vitest';
import { AccessTokens } from './access-tokens.js';

describe('the access token of credentials', () => {
  it('comes from one sign-in for all requests at once, and for late refusals of the token before', async () => {
    let signIns = 0;
    const tokens = new AccessTokens(() => {
      signIns += 1;
      return Promise.resolve({ token: `token ${signIns}`, seconds: 3_600 });
    });
    const refused = await Promise.all(Array.from({ length: 5 }, () => tokens.get()));
    expect(new Set(refused)).toEqual(new Set(['token 1']));
    for (const token of refused) {
      tokens.forget(token);
      expect(await tokens.get()).toBe('token 2');
    }
    expect(signIns).toBe(2);
  });

  it('is asked for again after a failed sign-in', async () => {
    const answers = [Promise.reject(new Error('away')), Promise.resolve({ token: 'token', seconds: 3_600 })];
    const tokens = new AccessTokens(() => answers.shift()!);
    await expect(tokens.get()).rejects.toThrow('away');
    expect(await tokens.get()).toBe('token');
  });
});
