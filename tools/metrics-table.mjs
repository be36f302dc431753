import { table } from './markdown.mjs';

/** The table of docs/metrics.md. A list of label values stands where it occurs first. */
export function metricsTable(described) {
  const listed = new Set();
  return table(
    ['name', 'kind', 'labels', 'exported by', 'meaning'],
    described.map(({ name, kind, labels, by, help }) => [`\`${name}\``, kind, labelsText(labels, listed), by, help]),
  );
}

function labelsText(labels, listed) {
  return Object.entries(labels)
    .map(([label, values]) => `\`${label}\`: ${typeof values === 'string' ? values : listOf(values, listed)}`)
    .join('<br>');
}

function listOf(values, listed) {
  const list = values.map((value) => `\`${value}\``).join(', ');
  if (values.length > 3 && listed.has(list)) return 'as above';
  listed.add(list);
  return list;
}
