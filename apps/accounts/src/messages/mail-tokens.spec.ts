import { describe, expect, it } from 'vitest';
import { sealedTokenContext } from '#contracts';
import { Sealer } from '#security';
import { type MailToken, MailTokens } from './mail-sender.js';

const sealer = new Sealer('the secret of one deployment, 32+');
const tokens = new MailTokens(sealer);
const user = { createdAt: new Date('2026-01-01T00:00:00.000Z') };
const wanted: MailToken = {
  kind: 'verifyEmail',
  appId: 'app-with_all-gzGzoHsz',
  userId: '0123456789abcdef01234567',
  emailVersion: 1,
  passwordVersion: 2,
  expiresAt: new Date('2026-01-08T00:00:00.000Z'),
};

function create(token: MailToken = wanted): string {
  return sealer.open(tokens.createSealed(token, user), sealedTokenContext(token));
}

describe('the tokens of mailed links', () => {
  it('hold their content in word characters', () => {
    const text = create();
    expect(text).toMatch(/^\w+$/);
    expect(tokens.read(text)?.token).toEqual(wanted);
  });

  it('fit into a link, whatever the ids are', () => {
    const longest = { ...wanted, appId: 'a'.repeat(64), userId: 'u'.repeat(64) };
    expect(create(longest).length).toBeLessThan(512);
    expect(tokens.read(create(longest))?.token).toEqual(longest);
  });

  it('are genuine for their user, and not for a later one with the same id', () => {
    const shown = tokens.read(create())!;
    expect(tokens.isGenuine(shown, user)).toBe(true);
    expect(tokens.isGenuine(shown, { createdAt: new Date(user.createdAt.getTime() + 1) })).toBe(false);
  });

  it('are not genuine where another secret has signed them', () => {
    const foreign = new MailTokens(new Sealer('the secret of another deployment!'));
    expect(foreign.isGenuine(tokens.read(create())!, user)).toBe(false);
  });

  it('are not genuine once a digit of them was changed', () => {
    const text = create();
    for (let index = 0; index < text.length; index += 1) {
      const digit = text[index] === '0' ? '1' : '0';
      const shown = tokens.read(text.slice(0, index) + digit + text.slice(index + 1));
      expect(shown !== undefined && tokens.isGenuine(shown, user)).toBe(false);
    }
  });

  it('are not genuine with other content', () => {
    const signature = create().slice(0, 32);
    for (const changes of [
      { kind: 'resetPassword' },
      { appId: 'other' },
      { userId: 'other' },
      { emailVersion: 0 },
      { passwordVersion: 3 },
      { expiresAt: new Date('2027-01-08T00:00:00.000Z') },
    ] satisfies Partial<MailToken>[]) {
      const forged = signature + create({ ...wanted, ...changes }).slice(32);
      const shown = tokens.read(forged)!;
      expect(shown.token).toEqual({ ...wanted, ...changes });
      expect(tokens.isGenuine(shown, user)).toBe(false);
    }
  });

  it.each(['', 'a', 'zz', '__proto__', '00', '0'.repeat(32), '0'.repeat(1024), `${'0'.repeat(32)}7b7d`])(
    'are refused: %.20s',
    (text) => {
      expect(tokens.read(text)).toBeUndefined();
    },
  );

  it.each([
    'null',
    '{}',
    '[]',
    '["verifyEmail",{},"u",0,0,0]',
    '["other","a","u",0,0,0]',
    '["verifyEmail","a","u",-1,0,0]',
    String.raw`["verifyEmail","a\u0000","u",0,0,0]`,
    String.raw`["verifyEmail","a","\ud800",0,0,0]`,
  ])('are refused with content of %s', (content) => {
    expect(tokens.read('0'.repeat(32) + Buffer.from(content).toString('hex'))).toBeUndefined();
  });
});
