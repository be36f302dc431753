import { table } from './markdown.mjs';

/** The table of docs/metrics.md. A list of label values stands where it occurs first. */
export function metricsTable(described) {
  const listed = new Set();
  return table(
    ['name', 'kind and labels', 'exported by', 'meaning'],
    described.map(({ name, kind, labels, by, help }) => [
      `\`${name}\``,
      [kind, ...labelTexts(labels, listed)].join('<br>'),
      by,
      help,
    ]),
  );
}

function labelTexts(labels, listed) {
  return Object.entries(labels).map(
    ([label, values]) => `\`${label}\`: ${typeof values === 'string' ? values : listOf(values, listed)}`,
  );
}

function listOf(values, listed) {
  const list = values.map((value) => `\`${value}\``).join(', ');
  if (values.length > 3 && listed.has(list)) return 'as above';
  listed.add(list);
  return list;
}
