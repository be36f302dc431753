import { parser } from '@prometheus-io/lezer-promql';
import type { Metrics } from '../src/metrics.js';

type Node = ReturnType<typeof parser.parse>['topNode'];

/** The labels of each series that a query can name: all values of a label, or undefined where they are not known. */
export type KnownSeries = ReadonlyMap<string, ReadonlyMap<string, readonly string[] | undefined>>;

interface Matcher {
  readonly label: string;
  readonly operator: string;
  readonly value: string;
}

interface Selector {
  readonly name: string;
  readonly matchers: readonly Matcher[];
}

/** Labels that Prometheus adds to every series. */
const TARGET_LABELS = ['job', 'instance'];
const SUFFIXES: Readonly<Record<string, readonly string[]>> = { histogram: ['_bucket', '_sum', '_count'] };
/** Placeholder values for the dashboard's variables. */
const VARIABLES: readonly (readonly [string, string])[] = [
  ['$__rate_interval', '5m'],
  ['$instance', '.+'],
  ['$job', '.+'],
];

/** All series of a process's metrics, and those that Prometheus adds for the target. */
export async function knownSeries(metrics: Metrics): Promise<KnownSeries> {
  const ours = new Map(metrics.described.map(({ name, labels }) => [name, labels]));
  const known = new Map<string, ReadonlyMap<string, readonly string[] | undefined>>([['up', targetLabels()]]);
  for (const { name, type } of await metrics.registry.getMetricsAsJSON()) {
    for (const suffix of SUFFIXES[String(type)] ?? ['']) {
      const labels = targetLabels();
      for (const [label, values] of Object.entries(ours.get(name) ?? {}))
        labels.set(label, typeof values === 'string' ? undefined : values);
      if (suffix === '_bucket') labels.set('le', undefined);
      known.set(name + suffix, labels);
    }
  }
  return known;
}

function targetLabels(): Map<string, readonly string[] | undefined> {
  return new Map(TARGET_LABELS.map((label) => [label, undefined]));
}

/** The problems of a query; empty where the syntax is valid and every name exists. */
export function problemsOf(query: string, known: KnownSeries): string[] {
  const text = VARIABLES.reduce((filled, [variable, value]) => filled.replaceAll(variable, value), query);
  const top = parser.parse(text).topNode;
  if (nodesIn(top).some(({ type }) => type.isError)) return [`no PromQL: ${query}`];
  const selected = selectorsIn(top, text).flatMap((selector) => selectorProblems(selector, known));
  const grouped = nodesIn(top)
    .filter(({ name }) => name === 'GroupingLabels')
    .flatMap((labels) => groupingProblems(labels, text, known));
  return [...selected, ...grouped];
}

/** The labels of the series of a query. */
export function labelsOf(query: string, known: KnownSeries): Set<string> {
  const names = selectorsIn(parser.parse(query).topNode, query).map(({ name }) => name);
  return new Set(names.flatMap((name) => [...(known.get(name)?.keys() ?? [])]));
}

/** The series that a query names. */
export function seriesOf(query: string): string[] {
  return selectorsIn(parser.parse(query).topNode, query).map(({ name }) => name);
}

function nodesIn(node: Node): Node[] {
  const found: Node[] = [];
  node.cursor().iterate((cursor) => void found.push(cursor.node));
  return found.filter(({ from, to }) => from >= node.from && to <= node.to);
}

function selectorsIn(node: Node, text: string): Selector[] {
  const wordOf = (part: Node | null) => (part === null ? '' : text.slice(part.from, part.to));
  return nodesIn(node)
    .filter(({ name }) => name === 'VectorSelector')
    .map((selector) => ({
      name: wordOf(selector.getChild('Identifier')),
      matchers: nodesIn(selector)
        .filter(({ name }) => name === 'UnquotedLabelMatcher')
        .map((matcher) => ({
          label: wordOf(matcher.getChild('LabelName')),
          operator: wordOf(matcher.getChild('MatchOp')),
          value: JSON.parse(wordOf(matcher.getChild('StringLiteral'))) as string,
        })),
    }));
}

function selectorProblems({ name, matchers }: Selector, known: KnownSeries): string[] {
  const labels = known.get(name);
  if (labels === undefined) return [`no metric ${name}`];
  return matchers.flatMap(({ label, operator, value }) => {
    if (!labels.has(label)) return [`no label ${label} on ${name}`];
    const pattern = new RegExp(`^(?:${value})$`);
    const isPossible = labels.get(label)?.some((one) => (operator.includes('~') ? pattern.test(one) : one === value));
    return isPossible === false ? [`no ${label} "${value}" on ${name}`] : [];
  });
}

/** A label in `by`, `on` or `ignoring` must exist on every series, or on all series of one side. */
function groupingProblems(grouping: Node, text: string, known: KnownSeries): string[] {
  const expression = grouping.parent?.parent ?? grouping;
  const series = selectorsIn(expression, text);
  const isThere = (label: string, { name }: Selector) => known.get(name)?.has(label) !== false;
  return grouping
    .getChildren('LabelName')
    .map(({ from, to }) => text.slice(from, to))
    .filter((label) =>
      expression.name === 'AggregateExpr'
        ? !series.every((one) => isThere(label, one))
        : !series.some((one) => isThere(label, one)),
    )
    .map((label) => `no label ${label} on ${series.map(({ name }) => name).join(', ')}`);
}
