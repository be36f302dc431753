import { describe, expect, it } from 'vitest';
import type { ProcessReport } from '#contracts';
import { baseUrlsOf, deploymentFindings, secretFindings, versionFindings } from './deployment-findings.js';

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
  [...deploymentFindings(reports), ...secretFindings(reports)].map(({ problem }) => problem);

describe('what is found on processes', () => {
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

  it('keeps the weakness of a secret apart', () => {
    expect(deploymentFindings([report({ settings: { secretWeakness: 'it repeats itself' } })])).toEqual([]);
  });
});

describe('what is found on servers', () => {
  const good = { settings: { maxmemoryPolicy: 'noeviction', appendOnly: 'yes' } };

  it('finds nothing if all is well', () => {
    const reports = [
      server('postgresql (accounts)', '16.4 (Debian)', { skewMs: -2_000 }),
      server('postgresql (mail)', '16.4', { settings: { readOnly: 'off' } }),
      server('redis', '7.2.1', good),
      server('redis', '7.2.1', { settings: { ...good.settings, memoryPercent: '89' } }),
    ];
    expect(deploymentFindings(reports)).toEqual([]);
    expect(versionFindings('rabbitmq', '4.0.2')).toEqual([]);
  });

  it('reports the same problem of two processes once', () => {
    expect(deploymentFindings([server('redis', '4.0.9', good), server('redis', '4.0.9', good)])).toHaveLength(1);
  });

  it.each<[ProcessReport, RegExp]>([
    [server('postgresql (mail)', '12.9'), /version "12.9": Gatepost needs 13/],
    [server('postgresql (mail)', '16.1', { skewMs: 61_000 }), /61 seconds ahead of that of accounts/],
    [server('redis', '7.0.0', { ...good, skewMs: -2_001 }), /2 seconds behind/],
    [server('redis', '7.0.0', { settings: { maxmemoryPolicy: 'allkeys-lru', appendOnly: 'yes' } }), /allkeys-lru/],
    [server('redis', '7.0.0', { settings: { maxmemoryPolicy: 'noeviction', appendOnly: 'no' } }), /no AOF/],
    [server('redis', '7.0.0', { settings: { ...good.settings, memoryPercent: '90' } }), /uses 90 % of its maxmemory/],
    [server('postgresql (mail)', '16.1', { settings: { readOnly: 'on' } }), /\(mail\) is read-only: .* 503/],
    [report({ servers: [{ name: 'redis', problem: 'no answer', facts: null }] }), /does not reach redis: "no answer"/],
  ])('finds %#', (one, problem) => {
    expect(deploymentFindings([one]).map((finding) => finding.problem)).toEqual([expect.stringMatching(problem)]);
  });

  it('compares versions by their numbers', () => {
    expect(versionFindings('rabbitmq', '3.9.29')[0]?.problem).toMatch(/needs 3.10/);
    expect(versionFindings('rabbitmq', '3.10.0')).toEqual([]);
    expect(versionFindings('redis', '5.0.14')[0]?.isAdvice).toBe(true);
    expect(versionFindings('redis', '6.2.0')).toEqual([]);
  });
});
