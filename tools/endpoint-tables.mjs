// The tables of docs/api.md that are made from the endpoints' own descriptions in the gateway.
import { table } from './markdown.mjs';

/** Puts the tables between the page's markers; the rest of the page is written by hand. */
export function withEndpointTables(page, { endpoints, commonErrors, errors, topics }) {
  const sections = headingsOf(page);
  const rows = topics.flatMap((topic) => {
    const ofTopic = endpoints.filter((endpoint) => endpoint.topic === topic);
    return [
      [`**${topic}**`, '', ''],
      ...merged(ofTopic.map((each) => rowOf(each, { commonErrors, errors, sections }))),
    ];
  });
  const common = commonErrors.map(({ name, when }) => [errors[name].status, errors[name].code, when]);
  return [
    ['endpoints', table(['method and path', 'success', 'errors'], rows)],
    ['common errors', table(['status', 'code', 'when'], common)],
  ].reduce((text, [name, content]) => replaceBetween(text, name, content), page);
}

function rowOf(endpoint, { commonErrors, errors, sections }) {
  const [path, ...aliases] = endpoint.paths.map((each) => each.replaceAll(/\{(\w+)\}/g, ':$1'));
  const name = `${endpoint.method} ${path}`;
  const address = sections.has(name) ? `[\`${name}\`](#${anchorOf(name)})` : `\`${name}\``;
  const credentials = endpoint.credentials === 'application' ? [] : [`**${endpoint.credentials}**`];
  const common = commonErrors.filter(({ appliesTo }) => appliesTo(endpoint)).map((each) => keyOf(errors[each.name]));
  const own = endpoint.errors.map((error) => errors[error]).filter((error) => !common.includes(keyOf(error)));
  return [
    [address, ...aliases.map((alias) => `\`${alias}\``), ...credentials].join('<br>'),
    successesOf(endpoint.answers),
    [failuresOf(endpoint.answers), codesByStatus(own)].filter((part) => part !== '').join('<br>'),
  ];
}

/** What a client sees of an error. */
function keyOf({ status, code }) {
  return `${status}: ${code}`;
}

/** Endpoints that answer alike share a row. */
function merged(rows) {
  const addresses = new Map();
  for (const [address, ...answers] of rows) {
    const key = JSON.stringify(answers);
    addresses.set(key, [...(addresses.get(key) ?? []), address]);
  }
  return [...addresses].map(([key, alike]) => [alike.join('<br>'), ...JSON.parse(key)]);
}

/** `200` is not written; an empty object stands for its description. */
function successesOf(answers) {
  return Object.entries(answers)
    .filter(([status]) => Number(status) < 300)
    .map(([status, { description, body }]) => [status, isEmptyObject(body) ? '`{}`' : description])
    .map(([status, text]) => (status === '200' ? text : `${status}: ${text}`))
    .join('<br>');
}

/** A strict or plain object; one that permits other members has a `catchall`. */
function isEmptyObject(schema) {
  return schema?.def.type === 'object' && Object.keys(schema.shape).length === 0 && schema.def.catchall === undefined;
}

/** `status 400, 503`: answers other than JSON, in order. */
function failuresOf(answers) {
  const statuses = Object.keys(answers).filter((status) => Number(status) >= 300);
  return statuses.length === 0 ? '' : `status ${statuses.join(', ')}`;
}

/** `105, 211<br>403: 206`, both in order; `400` is not written. */
function codesByStatus(errors) {
  const statuses = [...new Set(errors.map(({ status }) => status))].sort((a, b) => a - b);
  const codesOf = (status) =>
    [...new Set(errors.filter((error) => error.status === status).map(({ code }) => code))].sort((a, b) => a - b);
  return statuses.map((status) => `${status === 400 ? '' : `${status}: `}${codesOf(status).join(', ')}`).join('<br>');
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
