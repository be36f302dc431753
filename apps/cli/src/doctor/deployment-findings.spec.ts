import { describe, expect, it } from 'vitest';
import type { Application, ProcessReport } from '#contracts';
import { applicationFindings } from './doctor.command.js';
import { baseUrlsOf, processFindings, serverFindings, versionFindings } from './deployment-findings.js';
import { outsideFindings, type OutsideView } from './outside.js';

const URL_ = 'https://api.example.com';
const report = (change: Partial<ProcessReport> = {}): ProcessReport => ({
  instance: '0b6f3c0e-5d0e-4a52-9d3f-0c1c5a3f8d11',
  service: 'accounts',
  host: 'host',
  pid: 1,
  version: '0.1.0',
  node: '22.0.0',
  isProduction: true,
  now: '2026-01-01T00:00:00.000Z',
  problems: [],
  servers: [],
  settings: {},
  ...change,
});
const server = (name: string, version: string, facts: Partial<ProcessReport['servers'][number]['facts']> = {}) =>
  report({ servers: [{ name, problem: null, facts: { version, skewMs: 0, ...facts } }] });
const gateway = (settings: ProcessReport['settings'], change: Partial<ProcessReport> = {}) =>
  report({
    service: 'gateway',
    settings: { baseUrl: URL_, areRequestsLimited: true, hasUnknownProxy: false, ...settings },
    ...change,
  });
const problemsOf = (...reports: ProcessReport[]) =>
  processFindings([{ service: 'accounts', reports, expected: reports.length }]).map(({ problem }) => problem);

describe('the doctor on processes', () => {
  it('finds nothing if all is well', () => {
    expect(problemsOf(report(), report({ pid: 2 }), gateway({}))).toEqual([]);
    expect(baseUrlsOf([report(), gateway({}), gateway({})])).toEqual([URL_]);
  });

  it.each<[string, ProcessReport[], RegExp]>([
    ['not ready', [report({ problems: ['redis: away'] })], /accounts \(1 on host\) is not ready: "redis: away"/],
    [
      'of two versions',
      [report(), report({ service: 'mail', version: '0.2.0' })],
      /0\.1\.0 \(accounts\); 0\.2\.0 \(mail\)/,
    ],
    ['of two environments', [report(), report({ service: 'mail', isProduction: false })], /others without: mail/],
    [
      'with a weak secret',
      [report({ settings: { secretWeakness: 'it repeats itself' } })],
      /guessed: it repeats itself/,
    ],
    ['with two addresses', [gateway({}), gateway({ baseUrl: 'https://b.example' })], /different addresses/],
    [
      'with an address of their own machine',
      [gateway({ baseUrl: 'http://localhost:8080' })],
      /which is reachable only from that machine/,
    ],
    ['with an address that is not encrypted', [gateway({ baseUrl: 'http://api.example.com' })], /not encrypted/],
    ['behind an unknown proxy', [gateway({ hasUnknownProxy: true })], /proxy that is not trusted/],
    ['without limits', [gateway({ areRequestsLimited: false })], /not limited/],
  ])('finds some that are %s', (_, reports, problem) => {
    expect(problemsOf(...reports)).toEqual([expect.stringMatching(problem)]);
  });

  it('ignores the address and the limits in development', () => {
    const settings = { baseUrl: 'http://localhost:8080', areRequestsLimited: false };
    expect(problemsOf(gateway(settings, { isProduction: false }))).toEqual([]);
  });

  it('reports how many processes did not answer', () => {
    const [finding] = processFindings([{ service: 'mail', reports: [report()], expected: 3 }]);
    expect(finding?.problem).toBe('Only 1 of 3 processes of mail have answered.');
  });
});

describe('the doctor on servers', () => {
  const good = { settings: { maxmemoryPolicy: 'noeviction', appendOnly: 'yes' } };

  it('finds nothing if all is well', () => {
    const reports = [
      server('postgresql (accounts)', '16.4 (Debian)', { skewMs: -2_000 }),
      server('redis', '7.2.1', good),
    ];
    expect(serverFindings(reports)).toEqual([]);
    expect(versionFindings('rabbitmq', '4.0.2')).toEqual([]);
  });

  it('reports the same problem of two processes once', () => {
    expect(serverFindings([server('redis', '4.0.9', good), server('redis', '4.0.9', good)])).toHaveLength(1);
  });

  it.each<[ProcessReport, RegExp]>([
    [server('postgresql (mail)', '12.9'), /version "12.9": Gatepost needs 13/],
    [server('postgresql (mail)', '16.1', { skewMs: 61_000 }), /61 seconds ahead of that of accounts/],
    [server('redis', '7.0.0', { ...good, skewMs: -2_001 }), /2 seconds behind/],
    [server('redis', '7.0.0', { settings: { maxmemoryPolicy: 'allkeys-lru', appendOnly: 'yes' } }), /allkeys-lru/],
    [server('redis', '7.0.0', { settings: { maxmemoryPolicy: 'noeviction', appendOnly: 'no' } }), /no AOF/],
    [report({ servers: [{ name: 'redis', problem: 'no answer', facts: null }] }), /does not reach redis: "no answer"/],
  ])('finds %#', (one, problem) => {
    expect(serverFindings([one]).map((finding) => finding.problem)).toEqual([expect.stringMatching(problem)]);
  });

  it('compares versions by their numbers', () => {
    expect(versionFindings('rabbitmq', '3.9.29')[0]?.problem).toMatch(/needs 3.10/);
    expect(versionFindings('rabbitmq', '3.10.0')).toEqual([]);
    expect(versionFindings('redis', '5.0.14')[0]?.isAdvice).toBe(true);
    expect(versionFindings('redis', '6.2.0')).toEqual([]);
  });
});

describe('the doctor at the public address', () => {
  const view = (change: Partial<OutsideView> = {}): OutsideView => ({
    url: URL_,
    certificate: { problem: undefined, daysLeft: 60 },
    problem: undefined,
    skewMs: 900,
    openPaths: [],
    push: { url: 'wss://api.example.com/push', problem: undefined },
    ...change,
  });

  it('finds nothing if all is well', () => {
    expect(outsideFindings(view(), URL_)).toEqual([]);
    expect(outsideFindings(view({ certificate: undefined, push: undefined }), undefined)).toEqual([]);
  });

  it.each<[Partial<OutsideView>, RegExp]>([
    [{ certificate: { problem: 'self-signed certificate', daysLeft: 60 } }, /not trusted: "self-signed/],
    [{ certificate: { problem: undefined, daysLeft: 13 } }, /expires in 13 days/],
    [{ problem: 'ECONNREFUSED' }, /does not answer as the API: "ECONNREFUSED"/],
    [{ skewMs: -7_000 }, /differs from this machine's by 7 seconds/],
    [{ openPaths: ['/metrics', '/readyz'] }, /api.example.com\/metrics, https:\/\/api.example.com\/readyz/],
    [{ push: { url: 'wss://push.example.com', problem: 'HTTP 502' } }, /accepts no connection: "HTTP 502"/],
    [{ push: { url: 'ws://api.example.com/push', problem: undefined } }, /API is encrypted, but devices/],
  ])('finds %#', (change, problem) => {
    expect(outsideFindings(view(change), URL_).map((finding) => finding.problem)).toEqual([
      expect.stringMatching(problem),
    ]);
  });

  it('finds links that lead to another address', () => {
    expect(outsideFindings(view(), 'https://old.example.com')[0]?.problem).toMatch(
      /links of mails lead to https:\/\/old/,
    );
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
