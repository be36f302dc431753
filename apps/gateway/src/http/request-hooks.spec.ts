import { describe, expect, it } from 'vitest';
import { isByUnknownProxy } from './request-hooks.js';

describe('isByUnknownProxy', () => {
  const headers = { 'x-forwarded-for': '203.0.113.1' };

  it.each(['127.0.0.1', '10.1.2.3', '172.18.0.1', '::ffff:192.168.0.1', '::1', 'fd00::1'])(
    'knows one at %s by its header',
    (ip) => {
      expect(isByUnknownProxy({ headers, ip })).toBe(true);
      expect(isByUnknownProxy({ headers: {}, ip })).toBe(false);
    },
  );

  it('ignores the header from public addresses', () => {
    expect(isByUnknownProxy({ headers, ip: '198.51.100.1' })).toBe(false);
    expect(isByUnknownProxy({ headers, ip: '2001:db8::1' })).toBe(false);
    expect(isByUnknownProxy({ headers, ip: undefined as unknown as string })).toBe(false);
  });

  it('accepts a trusted one', () => {
    expect(isByUnknownProxy({ headers, ip: '203.0.113.1', ips: ['127.0.0.1', '203.0.113.1'] })).toBe(false);
    expect(isByUnknownProxy({ headers, ip: '10.0.0.2', ips: ['127.0.0.1', '10.0.0.2'] })).toBe(false);
  });
});
