import { describe, expect, it } from 'vitest';
import type { ShownDelivery } from '#contracts';
import { deliveryFindings } from './delivery-findings.js';

const NOW = new Date('2026-01-01T00:10:00.000Z');
const LATE = '2025-12-31T23:59:59.999Z';

const waiting = (createdAt: string, lastError: string | null = null): ShownDelivery => ({
  id: 'b6f0f6a2-6a34-4a53-9a57-2f2b0e0f7a11',
  appId: 'shop',
  channel: 'mail',
  kind: 'verifyEmail',
  recipient: 'ada@example.com',
  userId: 'user',
  status: lastError === null ? 'queued' : 'failed',
  attempts: 1,
  lastError,
  createdAt,
  expiresAt: '2026-01-08T00:00:00.000Z',
  nextAttemptAt: '2026-01-01T00:11:00.000Z',
  settledAt: null,
});

describe('the doctor on deliveries', () => {
  it('has nothing to say where nothing waits, or not for long', () => {
    expect(deliveryFindings('shop', [], NOW)).toEqual([]);
    expect(deliveryFindings('shop', [waiting('2026-01-01T00:00:00.000Z', 'later')], NOW)).toEqual([]);
  });

  it('names what is in the way, unable to steer the terminal, and the command that shows more', () => {
    const late = [waiting(LATE), waiting(LATE, '\u001b[2Jno route'), waiting(NOW.toISOString())];
    const [finding, ...others] = deliveryFindings('shop', late, NOW);
    expect(others).toEqual([]);
    expect(finding?.problem).toMatch(
      /^2 mails or text messages have been waiting for over 10 minutes: ".*no route"\.$/,
    );
    expect(finding?.problem).not.toContain('\u001b');
    expect(finding?.remedy).toBe('npm run gatepost -- mails list --app shop');
  });

  it('says so where nothing was tried yet', () => {
    expect(deliveryFindings('shop', [waiting(LATE)], NOW)[0]?.problem).toMatch(/^1 mail .*nothing was tried yet/);
  });
});
