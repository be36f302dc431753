import { describe, expect, it } from 'vitest';
import {
  httpUrl,
  isProxy,
  NetworkList,
  numbersByVendor,
  otelAttributes,
  otlpHeaders,
  parseRedisUrl,
  portOrOff,
  smtpUrl,
} from './environment-values.js';
import { environment } from './environment.js';

const plain = { isEncrypted: false, login: {} };

describe('parseRedisUrl', () => {
  it.each(['redis://host', 'rediss://user:p%40ss@host:6380/2', 'redis://[::1]:6379'])('takes %s as it is', (url) => {
    expect(parseRedisUrl(url)).toEqual({ kind: 'server', url });
  });

  it.each([
    ['redis+cluster://a:7000,b,[::1]:7002', { ...plain }],
    ['redis+cluster://a:7000,b,[::1]:7002/0', { ...plain }],
    ['rediss+cluster://:p%40ss%2F@a:7000,b,[::1]:7002/', { isEncrypted: true, login: { password: 'p@ss/' } }],
    ['redis+cluster://me:a:b@a:7000,b,[::1]:7002', { ...plain, login: { username: 'me', password: 'a:b' } }],
  ])('reads the nodes of %s', (url, rest) => {
    const nodes = [
      { host: 'a', port: 7_000 },
      { host: 'b', port: 6_379 },
      { host: '::1', port: 7_002 },
    ];
    expect(parseRedisUrl(url)).toEqual({ kind: 'cluster', nodes, ...rest });
  });

  it.each([
    ['redis+sentinel://a,b:26380/main', { ...plain, sentinelLogin: {}, database: 0 }],
    [
      'rediss+sentinel://me:secret@a,b:26380/main/3?sentinel_username=them&sentinel_password=p%26q',
      {
        isEncrypted: true,
        login: { username: 'me', password: 'secret' },
        sentinelLogin: { username: 'them', password: 'p&q' },
        database: 3,
      },
    ],
  ])('reads the Sentinels of %s', (url, rest) => {
    const sentinels = [
      { host: 'a', port: 26_379 },
      { host: 'b', port: 26_380 },
    ];
    expect(parseRedisUrl(url)).toEqual({ kind: 'sentinel', sentinels, masterName: 'main', ...rest });
  });

  it.each([
    '',
    'host:6379',
    'http://host',
    'redis://',
    'redis://a:6379,b:6379',
    'redis://a/name',
    'redis://a/-1',
    'redis://a/0/1',
    'redis+cluster://',
    'redis+cluster://a,,b',
    'redis+cluster://a:99999',
    'redis+cluster://a/1',
    'redis+cluster://a?b=c',
    'redis+cluster://%@a',
    'redis+cluster://a b',
    'redis+sentinel://a',
    'redis+sentinel://a/',
    'redis+sentinel://a/main/db',
    'redis+sentinel://a/main?other=1',
    'redis+other://a',
  ])('refuses %j', (url) => {
    expect(parseRedisUrl(url)).toBeUndefined();
  });
});

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

describe('NetworkList', () => {
  it.each([
    ['127.8.9.1', 'loopback'],
    ['::1', 'loopback'],
    ['fe80::1%eth0', 'linklocal'],
    ['10.1.2.3', '10.0.0.0/8'],
    ['10.1.2.3', '10.1.2.3'],
    ['::ffff:10.1.2.3', '10.1.2.3'],
    ['fd00::1', 'fd00::/8'],
    ['2001:db8::1', '2001:db8::1'],
  ])('includes %s in %s', (address, network) => {
    expect(new NetworkList(['192.0.2.1', network]).includes(address)).toBe(true);
  });

  it.each([
    ['128.0.0.1', 'loopback'],
    ['11.0.0.1', '10.0.0.0/8'],
    ['10.1.2.4', '10.1.2.3'],
    ['2001:db8::2', '2001:db8::1'],
    ['::1', '127.0.0.0/8'],
    ['', 'loopback'],
    ['localhost', 'loopback'],
  ])('does not include %j in %s', (address, network) => {
    expect(new NetworkList(['192.0.2.1', network]).includes(address)).toBe(false);
  });
});

describe('httpUrl', () => {
  it.each(['https://api.example.com', 'http://10.0.0.1:8080/gatepost/'])('takes %s', (text) => {
    expect(httpUrl.parse(text)).toBe(text.replace(/\/$/, ''));
  });

  it.each([
    'https://api.example.com?x=1',
    'https://api.example.com/#x',
    'https://a:b@api.example.com',
    'https:api',
    'ftp://a',
  ])('refuses %s, with which links would be broken', (text) => {
    expect(httpUrl.safeParse(text).success).toBe(false);
  });
});

describe('smtpUrl', () => {
  it.each([
    'smtps://user:p%40ss@host:465',
    'smtp://host:587?requireTLS=true',
    'smtp://host?tls.servername=mail&name=me',
  ])('takes %s', (text) => {
    expect(smtpUrl.parse(text)).toBe(text);
  });

  it.each([
    'smtp:host',
    'smtp://host?requireTls=true',
    'smtp://host?requiretls=true',
    'smtp://host?requireTLS=yes',
    'smtp://user:p%40ss%@host',
  ])('refuses %s', (text) => {
    expect(smtpUrl.safeParse(text).success).toBe(false);
  });
});

describe('pairs of OpenTelemetry', () => {
  it.each(['x-api-key=secret', 'Authorization=Basic YTpi==, x-team=a%2Cb%25,', 'Authorization=Basic abc;', 'x~team=a'])(
    'take the headers %s',
    (text) => {
      expect(otlpHeaders.parse(text)).toBe(text);
    },
  );

  it.each(['foo', '=secret', 'x-api-key=', 'x-api-key=a;b', 'x-api-key=50%', 'x-api-key=a,b'])(
    'refuse the headers %s, of which some would not be sent',
    (text) => {
      expect(otlpHeaders.safeParse(text).success).toBe(false);
    },
  );

  it.each(['foo', 'team=a=b', '=a', 'team=a,region', 'team=50%'])(
    'refuse the attributes %s, of which none would be set',
    (text) => {
      expect(otelAttributes.safeParse(text).success).toBe(false);
    },
  );

  it('take attributes', () => {
    const text = 'deployment.environment.name=staging, team=a%3Db,';
    expect(otelAttributes.parse(text)).toBe(text);
  });
});

describe('errors of values', () => {
  it.each([
    [portOrOff, 'none', 'off, or a whole number from 0 to 65535'],
    [numbersByVendor(100), 'apns=1000', 'such as apns=100,fcm=50, separated by commas, with numbers from 1 to 100'],
    [environment.shape.GATEPOST_NAMESPACE, '1shop', 'a lower case letter, then up to 40 lower case letters'],
  ])('name all that is allowed: %#', (schema, text, allowed) => {
    expect(schema.safeParse(text).error?.issues.map(({ message }) => message)).toEqual([
      expect.stringContaining(allowed),
    ]);
  });
});
