import { describe, expect, it } from 'vitest';
import { conflictDelayMs, RecentDepartures } from './device-admission.js';

describe('recent departures', () => {
  const device = { appId: 'app', installationId: 'device' };

  it('are remembered for at least ten and at most twenty seconds', () => {
    const departures = new RecentDepartures();
    departures.add(device, 20_000);
    expect(departures.has(device, 29_999)).toBe(true);
    expect(departures.has(device, 30_000)).toBe(true);
    expect(departures.has(device, 40_000)).toBe(false);
  });

  it('belong to one device only', () => {
    const departures = new RecentDepartures();
    departures.add(device, 20_000);
    expect(departures.has({ ...device, appId: 'other' }, 20_001)).toBe(false);
  });

  it('are forgotten after a long time without departures', () => {
    const departures = new RecentDepartures();
    departures.add(device, 20_000);
    expect(departures.has(device, 90_000)).toBe(false);
  });
});

describe('the answer to a login', () => {
  it.each([
    [0, 0],
    [1, 0],
    [2, 1_000],
    [3, 2_000],
    [6, 16_000],
    [7, 30_000],
    [1_000, 30_000],
  ])('after %i conflicts waits for %i ms', (conflicts, delayMs) => {
    expect(conflictDelayMs(conflicts)).toBe(delayMs);
  });
});
