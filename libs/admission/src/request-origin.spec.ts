import { describe, expect, it } from 'vitest';
import { clientAddressOf, clientNetworkOf } from './request-origin.js';

describe('clientAddressOf', () => {
  it.each<[string, Parameters<typeof clientAddressOf>[0], string]>([
    ['the connection', { ip: '203.0.113.1' }, '203.0.113.1'],
    ['an IPv4 address written as IPv6', { ip: '::ffff:203.0.113.1' }, '203.0.113.1'],
    ['an IPv6 address', { ip: '2001:DB8:0::1' }, '2001:db8::1'],
    ['the last known address', { ip: '203.0.113.1', ips: ['127.0.0.1', '10.0.0.1', '203.0.113.1'] }, '203.0.113.1'],
    ['the proxy, where it names no address', { ip: 'unknown', ips: ['127.0.0.1', '10.0.0.1', 'unknown'] }, '10.0.0.1'],
    ['nothing, where the connection has ended', { ip: undefined as unknown as string }, ''],
  ])('takes %s', (_, request, expected) => {
    expect(clientAddressOf(request)).toBe(expected);
  });
});

describe('clientNetworkOf', () => {
  it.each([
    ['203.0.113.1', '203.0.113.1'],
    ['::ffff:203.0.113.1', '203.0.113.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8:1:2::', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['', ''],
  ])('of %s is %s', (address, network) => {
    expect(clientNetworkOf(address)).toBe(network);
  });
});
