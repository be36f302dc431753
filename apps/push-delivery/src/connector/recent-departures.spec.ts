import { describe, expect, it } from 'vitest';
import { RecentDepartures } from './device-admission.js';

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
