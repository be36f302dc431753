// Writes docs/errors.md, docs/contracts.md, docs/metrics.md and the tables of docs/api.md from the code, and the dashboard from its description. With --check it only compares, and fails where they differ.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { dashboard } from './dashboard/dashboard.mjs';
import { withEndpointTables } from './endpoint-tables.mjs';
import { table } from './markdown.mjs';
import { metricsTable } from './metrics-table.mjs';
import { ensureBuilt, fail, ROOT } from './prepare.mjs';

const HELP = `Usage: node tools/generate-docs.mjs [--check]

Writes docs/errors.md from libs/errors, docs/contracts.md from libs/contracts, docs/metrics.md from libs/observability, and
the tables of endpoints in docs/api.md from the gateway; and deploy/observability/gatepost.dashboard.json from
tools/dashboard.
--check  writes nothing, and fails where a page differs from the code
`;

if (process.argv.includes('--help')) {
  process.stdout.write(HELP);
  process.exit(0);
}

ensureBuilt();
const { z } = await import('zod');
const { ERRORS } = await import('#errors');
const contracts = await import('#contracts');
const { Metrics } = await import('#observability');
const { GatewayModule } = await import('../dist/apps/gateway/src/gateway.module.js');
const { COMMON_ERRORS } = await import('../dist/apps/gateway/src/openapi/error-responses.js');
const { TOPICS } = await import('../dist/apps/gateway/src/openapi/endpoint.decorator.js');

/** Shapes with a name of their own: described once, then referenced. */
const SHAPES = new Map(
  Object.entries(contracts).flatMap(([name, value]) => (value instanceof z.ZodType ? [[value, name]] : [])),
);
const ANY_OBJECT = 'jsonObject';

const pages = new Map([
  ['docs/errors.md', errorsPage()],
  ['docs/contracts.md', contractsPage()],
  ['docs/metrics.md', metricsPage()],
  ['docs/api.md', apiPage()],
  ['deploy/observability/gatepost.dashboard.json', `${JSON.stringify(dashboard(), null, 2)}\n`],
]);
if (process.argv.includes('--check')) check();
else write();

function write() {
  mkdirSync(join(ROOT, 'docs'), { recursive: true });
  for (const [path, text] of pages) writeFileSync(join(ROOT, path), text);
}

function check() {
  const outdated = [...pages].filter(([path, text]) => contentOf(join(ROOT, path)) !== text).map(([path]) => path);
  if (outdated.length > 0) fail(`${outdated.join(', ')}: different from the code. Run: npm run generate`);
}

function contentOf(file) {
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
}

function errorsPage() {
  const rows = Object.entries(ERRORS).map(
    ([name, { code, status, message, retryAfterSeconds, logLevel = 'not logged' }]) => [
      code,
      status,
      message,
      retryAfterSeconds === undefined ? '' : `${retryAfterSeconds} s`,
      logLevel,
      `\`${name}\``,
    ],
  );
  rows.sort(([code], [otherCode]) => code - otherCode);
  return page(
    'Errors',
    'libs/errors/src/errors.ts',
    `Every failed request is answered with \`{"code": <integer>, "error": "<text>"}\`. Programs decide by \`code\`; the text
is for people, and is often more precise than the one below. Every error an endpoint can answer is in the
[API](api.md).`,
    table(['code', 'HTTP status', 'text', 'Retry-After', 'log level', 'name in the code'], rows),
  );
}

function contractsPage() {
  const all = Object.values(contracts).flatMap((value) => (isGroup(value) ? Object.values(value) : []));
  const rpcs = all.filter(({ request }) => request !== undefined);
  const messages = all.filter(({ payload }) => payload !== undefined);
  const isEvent = ({ pattern }) => /\.v\d+$/.test(pattern);
  const nodeMessages = Object.values(contracts.connectorMessages);
  const broadcasts = messages.filter((message) => !isEvent(message) && !nodeMessages.includes(message));
  const shapes = [...SHAPES].filter(([, name]) => name !== ANY_OBJECT);
  return page(
    'Contracts',
    'libs/contracts',
    `What crosses from one process to another. A name with \`?\` may be left out. How messages travel is in the
[architecture](architecture.md#messages).`,
    '## RPCs',
    'One question, one answer. The first part of the pattern names the service that answers.',
    ...rpcs.map(rpcSection),
    '## Events',
    'Committed facts. They leave through the outbox of the service that caused them and arrive at least once.',
    table(
      ['pattern', 'payload', 'subscribers'],
      messages.filter(isEvent).map((event) => [...messageRow(event), event.subscribers.join(', ') || 'none yet']),
    ),
    '## Broadcasts',
    'Hints to every process, best effort. Nothing depends on one arriving.',
    table(['pattern', 'payload'], broadcasts.map(messageRow)),
    '## Node messages',
    'Hints to one process, a connector, by its name. What they say stands in the queues of devices too.',
    table(['pattern', 'payload'], nodeMessages.map(messageRow)),
    '## Shapes',
    `\`${ANY_OBJECT}\` is any JSON object. The others:`,
    ...shapes.map(([schema, name]) => `### ${name}\n\n${shapeText(jsonSchemaOf(schema, schema))}`),
  );
}

function metricsPage() {
  return page(
    'Metrics',
    'libs/observability/src/metrics.ts',
    `Every process answers \`GET /metrics\` in Prometheus' text format. What to watch, and what each alert means, is in
[Operations](operations.md#what-to-watch).`,
    metricsTable(new Metrics().described),
    'Besides: `process_*` and `nodejs_*`, which tell memory, processor time, event-loop lag and the like of Node.',
    `- Histograms have the usual \`_bucket\`, \`_sum\` and \`_count\`; counters, a zero from the start where all values of their labels are listed here.
- Labels say nothing of users, devices or applications.
- Gauges are read when somebody scrapes, from stores and the broker once a second at most. One that cannot be read within 2 seconds is left out, and so it is where the process has no such part.
- What is kept in a store that processes share (queues, the outbox, deliveries, pushes that wait) each process tells alike: take the \`max\`, not the sum.
- Counters are those of one process since its start. A process that dies takes with it what it had counted since the last scrape. \`gatepost_push_devices_total\` counts a device when the database has noted what became of it, so once, whoever does it;
what a process has noted and not yet counted when it dies is in no counter. The exact figures of a push are in its [record](operations.md#pushes).`,
  );
}

function apiPage() {
  return withEndpointTables(readFileSync(join(ROOT, 'docs/api.md'), 'utf8'), {
    endpoints: GatewayModule.endpoints,
    commonErrors: COMMON_ERRORS,
    errors: ERRORS,
    topics: TOPICS,
  });
}

function isGroup(value) {
  return (
    typeof value === 'object' &&
    value !== null &&
    Object.values(value).every((entry) => typeof entry?.pattern === 'string')
  );
}

function rpcSection({ pattern, timeoutMs, request, reply }) {
  return [
    `### ${pattern}`,
    `The caller waits ${timeoutMs / 1000} s.`,
    table(
      ['', 'fields'],
      [
        ['request', inline(jsonSchemaOf(request))],
        ['reply', inline(jsonSchemaOf(reply))],
      ],
    ),
  ].join('\n\n');
}

function messageRow({ pattern, payload }) {
  return [`\`${pattern}\``, inline(jsonSchemaOf(payload))];
}

/** The schema as JSON Schema, in which a named shape is only its title; `root` itself is described in full. */
function jsonSchemaOf(schema, root) {
  return z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      const name = SHAPES.get(zodSchema);
      if (name !== undefined && zodSchema !== root) jsonSchema.title = name;
    },
  });
}

function inline(schema) {
  const fields = Object.entries(schema.properties ?? {});
  if (fields.length === 0) return 'none';
  return fields
    .map(([name, field]) => `\`${name}${isRequired(schema, name) ? '' : '?'}\` ${typeOf(field)}`)
    .join('<br>');
}

/** Its fields, or, where it has none of its own, what is said of it. */
function shapeText(schema) {
  return schema.properties === undefined ? (schema.description ?? typeOf(schema)) : fieldTable(schema);
}

function fieldTable(schema) {
  const hasDefaults = Object.values(schema.properties).some((field) => field.default !== undefined);
  const rows = Object.entries(schema.properties).map(([name, field]) => [
    `\`${name}${hasDefaults || isRequired(schema, name) ? '' : '?'}\``,
    typeOf(field),
    ...(hasDefaults ? [defaultOf(field), field.description ?? ''] : []),
  ]);
  return table(hasDefaults ? ['field', 'type', 'default', 'meaning'] : ['field', 'type'], rows);
}

function defaultOf(field) {
  return field.default === undefined ? '' : `\`${JSON.stringify(field.default)}\``;
}

function isRequired({ required = [] }, name) {
  return required.includes(name);
}

function typeOf(schema) {
  if (schema.title !== undefined)
    return schema.title === ANY_OBJECT ? ANY_OBJECT : `[${schema.title}](#${schema.title.toLowerCase()})`;
  const alternatives = alternativesOf(schema);
  if (alternatives !== undefined) return alternatives.join(' or ');
  if (schema.type === 'array') {
    return `list${limits(schema.minItems, schema.maxItems, 'entries')} of ${typeOf(schema.items)}`;
  }
  if (schema.type === 'string')
    return schema.format === 'date-time'
      ? 'ISO 8601 time'
      : `string${limits(schema.minLength, schema.maxLength, 'characters')}`;
  if (schema.type === 'integer') return `integer${limits(safe(schema.minimum), safe(schema.maximum), '')}`;
  return schema.type ?? 'any JSON';
}

function alternativesOf({ anyOf, enum: values, const: only, type }) {
  if (anyOf !== undefined) return anyOf.map(typeOf);
  if (values !== undefined) return values.map((value) => `\`${value}\``);
  if (only !== undefined) return [`\`${only}\``];
  return Array.isArray(type) ? type : undefined;
}

/** A bound that zod adds to every integer says nothing. */
function safe(bound) {
  return Number.isSafeInteger(bound) && Math.abs(bound) !== Number.MAX_SAFE_INTEGER ? bound : undefined;
}

function limits(min, max, unit) {
  if (min === undefined && max === undefined) return '';
  return ` (${[range(min, max), unit].join(' ').trim()})`;
}

function range(min, max) {
  if (max === undefined) return `at least ${min}`;
  return min === undefined ? `at most ${max}` : `${min} to ${max}`;
}

function page(title, source, ...parts) {
  return `${[`# ${title}`, `<!-- Made from ${source} by "npm run generate". Do not edit. -->`, ...parts].join('\n\n')}\n`;
}
