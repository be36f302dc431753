import { describe, expect, it } from 'vitest';
import { RecentDepartures } from './device-admission.js';

describe('recent departures', () => {
  const device = { appId: 'app', installationId: 'device' };

  it('are known for ten seconds at least, and twenty at most', () => {
    const departures = new RecentDepartures();
    departures.add(device, 20_000);
    expect(departures.has(device, 29_999)).toBe(true);
    expect(departures.has(device, 30_000)).toBe(true);
    expect(departures.has(device, 40_000)).toBe(false);
  });

  it('are those of that device alone', () => {
    const departures = new RecentDepartures();
    departures.add(device, 20_000);
    expect(departures.has({ ...device, appId: 'other' }, 20_001)).toBe(false);
  });

  it('are forgotten where nobody left for long', () => {
    const departures = new RecentDepartures();
    departures.add(device, 20_000);
    expect(departures.has(device, 90_000)).toBe(false);
  });
});
