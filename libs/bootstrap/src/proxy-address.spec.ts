import { describe, expect, it } from 'vitest';
import { isProxy } from './environment-values.js';

describe('isProxy', () => {
  it.each(['10.0.0.1', '10.0.0.0/8', '127.0.0.1/32', '::1', 'fd00::/8', '2001:db8::/128', 'loopback', 'uniquelocal'])(
    'takes %s',
    (text) => {
      expect(isProxy(text)).toBe(true);
    },
  );

  it.each(['', 'proxy.example.com', '10.0.0', '10.0.0.0/0', '10.0.0.0/33', '10.0.0.0/08', '10.0.0.0/8/8', '::/129'])(
    'refuses %s',
    (text) => {
      expect(isProxy(text)).toBe(false);
    },
  );

  it.each(['*', 'true', '1', '10.0.0.0/255.0.0.0', ' 10.0.0.1', 'constructor'])('refuses %s', (text) => {
    expect(isProxy(text)).toBe(false);
  });
});
