import { describe, expect, it } from 'vitest';
import { NetworkGuard } from './outbound-client.js';

describe('the network guard', () => {
  it.each(['93.184.216.34', '8.8.8.8', '2606:4700:4700::1111', '::ffff:93.184.216.34'])(
    'permits the public address %s',
    (address) => {
      expect(new NetworkGuard([]).permits(address)).toBe(true);
    },
  );

  it.each([
    ['127.0.0.1', 'loopback'],
    ['::1', 'loopback'],
    ['::ffff:127.0.0.1', 'loopback'],
    ['169.254.169.254', 'linklocal'],
    ['fe80::1', 'linklocal'],
    ['10.1.2.3', 'uniquelocal'],
    ['172.31.0.1', 'uniquelocal'],
    ['192.168.0.1', 'uniquelocal'],
    ['::ffff:10.1.2.3', 'uniquelocal'],
    ['fd00::1', 'uniquelocal'],
    ['100.64.0.1', '100.64.0.0/10'],
    ['10.1.2.3', '10.1.2.3'],
    ['fd00::1', 'fd00::1'],
    ['10.1.2.3', '::ffff:10.1.2.3'],
    ['64:ff9b::808:808', '64:ff9b::/96'],
    ['::7f00:1', '::/96'],
    ['4000::1', '4000::/3'],
  ])('permits the internal address %s only where %s is named', (address, network) => {
    expect(new NetworkGuard([]).permits(address)).toBe(false);
    expect(new NetworkGuard([network]).permits(address)).toBe(true);
  });

  it.each([
    ['10.1.2.4', '10.1.2.3'],
    ['10.2.0.1', '10.1.0.0/16'],
    ['::1', '127.0.0.0/8'],
    ['127.0.0.1', 'uniquelocal'],
    ['fd00::2', 'fd00::1'],
  ])('%s is not among %s', (address, network) => {
    expect(new NetworkGuard([network]).permits(address)).toBe(false);
  });

  it.each(['', 'localhost', '127.0.0.1:80', 'fe80::1%eth0', '999.1.1.1'])(
    'rejects %j, which is not an address',
    (text) => {
      expect(new NetworkGuard([]).permits(text)).toBe(false);
    },
  );
});
