// The tables of docs/api.md that are made from the endpoints' own descriptions in the gateway.
import { table } from './markdown.mjs';

/** Puts the tables between the page's markers; the rest of the page is written by hand. */
export function withEndpointTables(page, { endpoints, commonErrors, errors, topics }) {
  const sections = headingsOf(page);
  const tables = topics.map((topic) => {
    const rows = endpoints.filter((endpoint) => endpoint.topic === topic).map((each) => rowOf(each, errors, sections));
    return `**${topic}**\n\n${table(['method and path', 'credentials', 'success', 'errors'], rows)}`;
  });
  const common = commonErrors.map(({ name, when }) => [errors[name].status, errors[name].code, when]);
  return [
    ['endpoints', tables.join('\n\n')],
    ['common errors', table(['status', 'code', 'when'], common)],
  ].reduce((text, [name, content]) => replaceBetween(text, name, content), page);
}

function rowOf(endpoint, errors, sections) {
  const [path, ...aliases] = endpoint.paths.map((each) => each.replaceAll(/\{(\w+)\}/g, ':$1'));
  const name = `${endpoint.method} ${path}`;
  const address = sections.has(name) ? `[\`${name}\`](#${anchorOf(name)})` : `\`${name}\``;
  return [
    [address, ...aliases.map((alias) => `\`${alias}\``)].join('<br>'),
    endpoint.credentials,
    Object.entries(endpoint.answers)
      .map(([status, { description }]) => `${status}: ${description}`)
      .join('<br>'),
    codesByStatus(endpoint.errors.map((error) => errors[error])),
  ];
}

/** `400: 105, 211<br>403: 206`, both in order. */
function codesByStatus(errors) {
  const statuses = [...new Set(errors.map(({ status }) => status))].sort((a, b) => a - b);
  const codesOf = (status) =>
    [...new Set(errors.filter((error) => error.status === status).map(({ code }) => code))].sort((a, b) => a - b);
  return statuses.map((status) => `${status}: ${codesOf(status).join(', ')}`).join('<br>');
}

function replaceBetween(page, name, content) {
  const [begin, end] = [`<!-- ${name}, made by "npm run generate" -->`, `<!-- end of ${name} -->`];
  const [before, rest = ''] = page.split(begin);
  const [, after] = rest.split(end);
  if (after === undefined) throw new Error(`docs/api.md has no place for the ${name}: ${begin} … ${end}`);
  return `${before}${begin}\n\n${content}\n\n${end}${after}`;
}

function headingsOf(page) {
  return new Set([...page.matchAll(/^#{3,} (.+)$/gm)].map(([, heading]) => heading));
}

/** How GitHub makes a heading's anchor. */
function anchorOf(heading) {
  return heading
    .toLowerCase()
    .replaceAll(/[^\w\- ]/g, '')
    .replaceAll(' ', '-');
}
