import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { type KnownSeries, knownSeries, labelsOf, problemsOf, seriesOf } from '../test/promql.js';
import { Metrics } from './metrics.js';

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: { readonly severity: string };
  readonly annotations: Readonly<Record<'summary' | 'description' | 'runbook', string>>;
}

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly datasource?: { readonly uid: string };
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
}

const textOf = (path: string) => readFileSync(path, 'utf8');
const { groups } = parse(textOf('deploy/observability/alerts.yml')) as { groups: { rules: Rule[] }[] };
const rules = groups.flatMap((group) => group.rules);
const dashboard = JSON.parse(textOf('deploy/observability/gatepost.dashboard.json')) as { panels: Panel[] };
/** The pause between two rounds of each periodic job, in milliseconds. */
const intervals = readdirSync('apps', { recursive: true, encoding: 'utf8' })
  .filter((name) => /\/src\/.*(?<!spec)\.ts$/.test(name))
  .map((name) => textOf(join('apps', name)))
  .flatMap((text) =>
    Array.from(text.matchAll(/name: '([\w-]+)',\s+intervalMs: (\w+)/g), ([, job, constant]): [string, number] => [
      job ?? '',
      Number(new RegExp(`const ${constant} = ([\\d_]+);`).exec(text)?.[1]?.replaceAll('_', '')),
    ]),
  );
const targets = dashboard.panels.flatMap((panel) =>
  (panel.targets ?? []).map((target) => ({ ...target, title: panel.title })),
);

describe('alerts and dashboards', () => {
  const metrics = new Metrics();
  let known: KnownSeries;

  beforeAll(async () => {
    known = await knownSeries(metrics);
  });

  it.each([
    [
      'rate(gatepost_http_request_duration_second_count[5m])',
      ['no metric gatepost_http_request_duration_second_count'],
    ],
    ['gatepost_http_request_duration_seconds', ['no metric gatepost_http_request_duration_seconds']],
    ['gatepost_push_logins_total{result="ok"}', ['no label result on gatepost_push_logins_total']],
    ['gatepost_push_logins_total{outcome="okay"}', ['no outcome "okay" on gatepost_push_logins_total']],
    ['gatepost_push_logins_total{outcome=~"no.*"}', ['no outcome "no.*" on gatepost_push_logins_total']],
    ['sum by (chanel) (gatepost_deliveries_total)', ['no label chanel on gatepost_deliveries_total']],
    ['gatepost_ready * on (pod) gatepost_build_info', ['no label pod on gatepost_ready, gatepost_build_info']],
    ['sum by (job (gatepost_ready)', ['no PromQL: sum by (job (gatepost_ready)']],
    ['sum by (le, job) (rate(gatepost_rpc_duration_seconds_bucket{outcome="ok"}[$__rate_interval])) > 1', []],
  ])('are checked for misspelt names: %s', (query, problems) => {
    expect(problemsOf(query, known)).toEqual(problems);
  });

  it.each(rules)('use only existing names in the alert $alert, whose text shows the measured value', (rule) => {
    expect(problemsOf(rule.expr, known)).toEqual([]);
    expect(rule.labels.severity).toMatch(/^(?:critical|warning)$/);
    const { summary, description, runbook } = rule.annotations;
    const named = [...`${summary} ${description}`.matchAll(/\$labels\.(\w+)/g)].map(([, label]) => label);
    expect([...labelsOf(rule.expr, known)]).toEqual(expect.arrayContaining(named));
    expect(runbook).toBe('docs/operations.md#alerts');
  });

  it.each(targets)('use only existing names in the panel "$title": $legendFormat', ({ expr, legendFormat }) => {
    expect(problemsOf(expr, known)).toEqual([]);
    const named = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label);
    expect([...labelsOf(expr, known)]).toEqual(expect.arrayContaining(named));
  });

  it('do not take the first sample of a new process for all of a time', () => {
    const hasty = rules.filter(({ expr, for: time }) => expr.includes('_over_time(') && time === undefined);
    expect(hasty.map(({ alert }) => alert)).toEqual([]);
  });

  it('do not report a periodic job before its first round is due', () => {
    const patienceMs =
      Number(/^(\d+)m$/.exec(rules.find(({ alert }) => alert === 'GatepostJobFails')?.for ?? '')?.[1]) * 60_000;
    const jobs = metrics.described.find(({ name }) => name === 'gatepost_job_last_success_timestamp_seconds')?.labels[
      'name'
    ];
    expect(intervals.map(([name]) => name).sort()).toEqual([jobs ?? []].flat().sort());
    for (const [name, intervalMs] of intervals) expect(1.1 * intervalMs, name).toBeLessThan(patienceMs);
  });

  it('show every metric of Gatepost', () => {
    const watched = [...rules.map(({ expr }) => expr), ...targets.map(({ expr }) => expr)].flatMap(seriesOf);
    const shown = new Set(watched.map((name) => name.replace(/_(?:bucket|sum|count)$/, '')));
    expect(metrics.described.map(({ name }) => name).filter((name) => !shown.has(name))).toEqual([]);
  });

  it('are documented for operators: every alert and every metric', () => {
    const operations = textOf('docs/operations.md');
    const explained = [...operations.matchAll(/^\| `(Gatepost\w+)` \|/gm)].map(([, alert]) => alert);
    expect(explained.sort()).toEqual(rules.map(({ alert }) => alert).sort());
    expect(operations).toContain('\n## Alerts\n');
    const listed = [...textOf('docs/metrics.md').matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name);
    expect(listed).toEqual(metrics.described.map(({ name }) => name));
  });

  it('work with any data source, and panels do not overlap', () => {
    const { panels } = dashboard;
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    expect(new Set(panels.flatMap(({ datasource }) => datasource?.uid ?? []))).toEqual(new Set(['${datasource}']));
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, cell) => `${x + (cell % w)} ${y + Math.floor(cell / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    expect(Math.max(...panels.map(({ gridPos: { x, w } }) => x + w))).toBe(24);
  });
});
