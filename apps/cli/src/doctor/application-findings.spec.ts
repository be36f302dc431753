import { describe, expect, it } from 'vitest';
import { missingReplicas } from '#bootstrap';
import type { Application, PlatformKind, ShownCredentials, ShownDelivery } from '#contracts';
import { applicationFindings, deliveryFindings, platformFindings, vendorFindings } from './doctor.command.js';

type Use = Parameters<typeof platformFindings>[0];

const credentialsOf = (platform: string, kind = platform as PlatformKind): ShownCredentials => ({
  platform,
  kind,
  shown: {},
  secrets: [],
});
const used = (platform: string, counts: Partial<Use['used'][number]> = {}) => ({
  platform,
  verified: 0,
  unverified: 0,
  ...counts,
});
const findings = (use: Partial<Use>) =>
  platformFindings({ id: 'shop', isVerificationRequired: true, credentials: [], used: [], ...use });

describe('the doctor on platforms', () => {
  it('finds nothing if no platform is used, or if all accounts are verified', () => {
    expect(findings({})).toEqual([]);
    expect(findings({ isVerificationRequired: false })).toEqual([]);
    const weixin = used('weixin', { kind: 'weixin', verified: 3 });
    expect(findings({ credentials: [credentialsOf('weixin')], used: [weixin] })).toEqual([]);
  });

  it('finds nothing for platforms that cannot be verified', () => {
    expect(findings({ used: [used('my_company', { unverified: 7 }), used('anonymous', { unverified: 9 })] })).toEqual(
      [],
    );
  });

  it('finds a built-in platform without credentials, and names the command that sets them', () => {
    const [finding, ...others] = findings({
      used: [used('lc_weapp', { kind: 'lc_weapp', verified: 1, unverified: 2 })],
    });
    expect(others).toEqual([]);
    expect(finding?.problem).toMatch(/^3 accounts of lc_weapp are in use, and the application has no credentials/);
    expect(finding?.remedy).toBe('npm run gatepost -- platforms set shop lc_weapp appId=VALUE appSecret=@FILE');
  });

  it('accepts the credentials of the key itself or of its kind, and no others', () => {
    const tv = used('weixin_tv', { kind: 'weixin', verified: 1 });
    expect(findings({ used: [tv], credentials: [credentialsOf('weixin')] })).toEqual([]);
    expect(findings({ used: [tv], credentials: [credentialsOf('weixin_tv', 'weixin')] })).toEqual([]);
    const [finding] = findings({ used: [tv], credentials: [credentialsOf('weixin_car', 'weixin')] });
    expect(finding?.remedy).toMatch(/platforms set shop weixin_tv appId=VALUE --kind weixin$/);
  });

  it('does not count union ids: the accounts that carry them are counted', () => {
    expect(findings({ used: [used('_weixin_unionid', { kind: 'weixin', unverified: 1 })] })).toEqual([]);
  });

  it('finds accounts created before the operator set the kind of their key', () => {
    const use = { used: [used('tv', { unverified: 2 })], credentials: [credentialsOf('tv', 'weixin')] };
    expect(findings(use)[0]?.problem).toMatch(/^2 accounts of tv are linked to users without tv ever/);
  });

  it('finds accounts whose client left out the kind of their key, if other clients name it', () => {
    const use = [used('weixin_1', { unverified: 2 }), used('weixin_1', { kind: 'weixin', verified: 5 })];
    const [finding, ...others] = findings({ used: use, credentials: [credentialsOf('weixin')] });
    expect(others).toEqual([]);
    expect(finding?.problem).toMatch(/^2 accounts of weixin_1 are linked to users without weixin_1 ever/);
  });

  it('finds unverified accounts although there are credentials', () => {
    const weixin = used('weixin', { kind: 'weixin', verified: 3, unverified: 1 });
    const [finding, ...others] = findings({ used: [weixin], credentials: [credentialsOf('weixin')] });
    expect(others).toEqual([]);
    expect(finding?.problem).toMatch(/^1 account of weixin is linked to users without weixin ever having confirmed it/);
  });

  it('finds that other platforms are accepted unverified although there are credentials', () => {
    const [finding] = findings({ isVerificationRequired: false, credentials: [credentialsOf('weixin')] });
    expect(finding?.remedy).toBe('npm run gatepost -- apps set shop requireVerifiedPlatforms true');
  });
});

const waiting = (lastError: string | null = null): ShownDelivery => ({
  id: 'b6f0f6a2-6a34-4a53-9a57-2f2b0e0f7a11',
  appId: 'shop',
  channel: 'mail',
  kind: 'verifyEmail',
  recipient: 'ada@example.com',
  userId: 'user',
  status: lastError === null ? 'queued' : 'failed',
  attempts: 1,
  attemptLog: [],
  lastError,
  createdAt: '2026-01-01T00:00:00.000Z',
  expiresAt: '2026-01-08T00:00:00.000Z',
  nextAttemptAt: '2026-01-01T00:11:00.000Z',
  settledAt: null,
});

describe('the doctor on deliveries', () => {
  const found = (...late: ShownDelivery[]) => deliveryFindings('shop', late, false);

  it('finds nothing if no message waits', () => {
    expect(found()).toEqual([]);
  });

  it('names the error, with control characters escaped, and the command that shows more', () => {
    const [finding, ...others] = found(waiting(), waiting('\u001b[2Jno route'));
    expect(others).toEqual([]);
    expect(finding?.problem).toMatch(
      /^2 mails or text messages have been waiting for over 10 minutes: ".*no route"\.$/,
    );
    expect(finding?.problem).not.toContain('\u001b');
    expect(finding?.remedy).toBe('npm run gatepost -- mails list --app shop');
  });

  it('says that no attempt was made yet', () => {
    expect(found(waiting())[0]?.problem).toMatch(/^1 mail .*no attempt was made yet/);
  });
});

describe('the doctor on channels of vendors', () => {
  const lane = {
    lane: 'oppo/_default//prod',
    isPaused: false,
    isDoubted: false,
    isTrusted: false,
    devices: 3,
    seconds: 90,
  };
  const problems = (change: Partial<typeof lane>, senders = 1) =>
    vendorFindings('shop', [{ ...lane, ...change }], senders).map(({ problem, remedy }) => `${problem} ${remedy}`);

  it('finds nothing while a sender works', () => {
    expect(problems({})).toEqual([]);
    expect(problems({ devices: 0 }, 0)).toEqual([]);
  });

  it('finds devices that wait where no process sends', () => {
    expect(problems({}, 0)).toEqual([expect.stringMatching(/^Pushes to 3 devices of vendors wait.*role sender/)]);
  });

  it('finds lanes in doubt, and paused ones with devices', () => {
    expect(problems({ isDoubted: true })).toEqual([expect.stringMatching(/vendors trust shop oppo$/)]);
    expect(problems({ isPaused: true })).toEqual([expect.stringMatching(/vendors resume shop oppo$/)]);
    expect(problems({ isPaused: true, devices: 0 })).toEqual([]);
  });
});

describe('the doctor on keys and settings', () => {
  const settings = { verifyEmailOnSignUp: true, quietProfile: true, hideContact: true, allowClientPush: false };
  const app = (masterKey: string, change: object = {}) =>
    ({ id: 'shop', masterKey, settings: { ...settings, ...change } }) as unknown as Application;
  const KEY = 'DyJegPlemooo4X1tg94gQkw1';

  it('finds nothing if all is well, and ignores the settings in development', () => {
    expect(applicationFindings(app(KEY), true)).toEqual([]);
    expect(applicationFindings(app(KEY, { hideContact: false, allowClientPush: true }), false)).toEqual([]);
  });

  it('finds master keys that can be guessed', () => {
    for (const key of ['short-master-1', 'aaaaaaaaaaaaaaaaaaaaaaaa'])
      expect(applicationFindings(app(key), false)[0]?.remedy).toMatch(/rotate-keys shop --master-key/);
  });

  it('gives advice on settings', () => {
    const findings = applicationFindings(app(KEY, { hideContact: false, allowClientPush: true }), true);
    expect(findings.map(({ isAdvice }) => isAdvice)).toEqual([true, true]);
    expect(findings[1]?.problem).toBe('Off: hideContact.');
  });
});

it('the doctor reports how many processes did not answer', () => {
  expect(missingReplicas('mail', 3, 3)).toEqual([]);
  expect(missingReplicas('mail', 1, 3)[0]?.problem).toBe('Only 1 of 3 processes of mail have answered.');
});
