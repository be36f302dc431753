import { table } from './markdown.mjs';

/** The table of docs/metrics.md. */
export function metricsTable(described) {
  return table(
    ['name', 'kind', 'labels', 'exported by', 'meaning'],
    described.map(({ name, kind, labels, by, help }) => [`\`${name}\``, kind, labelsText(labels), by, help]),
  );
}

function labelsText(labels) {
  return Object.entries(labels)
    .map(([label, values]) => `\`${label}\`: ${typeof values === 'string' ? values : listOf(values)}`)
    .join('<br>');
}

function listOf(values) {
  return values.map((value) => `\`${value}\``).join(', ');
}
