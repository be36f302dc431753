// Writes docs/errors.md, docs/contracts.md, docs/metrics.md and the tables of docs/api.md from the code, and the dashboard from its description. With --check it only compares, and fails where they differ.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { contractsPage } from './contracts-page.mjs';
import { dashboard } from './dashboard/dashboard.mjs';
import { withEndpointTables } from './endpoint-tables.mjs';
import { page, table } from './markdown.mjs';
import { ensureBuilt, fail, ROOT } from './prepare.mjs';

const USUAL_STATUS = 400;
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
const { ERRORS } = await import('#errors');
const { Metrics } = await import('#observability');
const { GatewayModule } = await import('../dist/apps/gateway/src/gateway.module.js');
const { COMMON_ERRORS } = await import('../dist/apps/gateway/src/openapi/document.js');
const { TOPICS } = await import('../dist/apps/gateway/src/openapi/endpoint.decorator.js');

const pages = new Map([
  ['docs/errors.md', errorsPage()],
  ['docs/contracts.md', await contractsPage()],
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
  const errors = Object.entries(ERRORS).map(([name, error]) => ({ name, ...error }));
  errors.sort((one, other) => one.code - other.code);
  const namesWhere = (holds) => listOf(errors.filter(holds));
  const waits = [...new Set(errors.map(({ retryAfterSeconds }) => retryAfterSeconds))].filter(Boolean);
  return page(
    'Errors',
    'libs/errors/src/errors.ts',
    `Every failed request is answered with \`{"code": <integer>, "error": "<text>"}\`. Programs compare \`code\`; the text may be
more precise than below. [API](api.md): the errors of each endpoint.`,
    `The HTTP status is ${USUAL_STATUS}, or stands after the code. The header \`Retry-After\`, in seconds:`,
    waits
      .sort((one, other) => one - other)
      .map((wait) => `- ${wait}: ${namesWhere(({ retryAfterSeconds }) => retryAfterSeconds === wait)}`)
      .join('\n'),
    `Logged: as errors ${namesWhere(({ logLevel }) => logLevel === 'error')}; as warnings ${namesWhere(
      ({ logLevel }) => logLevel === 'warn',
    )}.`,
    table(
      ['code', 'text', 'name in the code'],
      errors.map(({ code, status, message, name }) => [
        status === USUAL_STATUS ? code : `${code} (${status})`,
        message,
        `\`${name}\``,
      ]),
    ),
  );
}

function listOf(errors) {
  return errors.map(({ name }) => `\`${name}\``).join(', ');
}

function metricsPage() {
  return page(
    'Metrics',
    'libs/observability/src/metrics.ts',
    `Every process answers \`GET /metrics\` in Prometheus' text format. Which figures to watch, and the meaning of each alert:
[Operations](operations.md#what-to-watch).`,
    metricsTable(new Metrics().described),
    'Besides: `process_*` and `nodejs_*`, such as memory, processor time and event-loop lag.',
    `- Counters with listed label values begin with a zero for each combination. No label names a user, a device or an application.
- Gauges are read at each scrape, from stores and the broker once a second at most. A gauge that cannot be read within 2 s is left out, and so is one whose part the process does not have.
- Every process reports the same value for shared stores (queues, outbox, deliveries, waiting pushes, channels of vendors that are paused or doubted): take the \`max\`, not the sum.
- A process that ends loses the counts since its last scrape. The exact figures of a push are in its [record](operations.md#pushes).`,
  );
}

/** A list of label values stands where it occurs first. */
function metricsTable(described) {
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
    ([label, values]) => `\`${label}\`: ${typeof values === 'string' ? values : valuesOf(values, listed)}`,
  );
}

function valuesOf(values, listed) {
  const list = values.map((value) => `\`${value}\``).join(', ');
  if (values.length > 3 && listed.has(list)) return 'as above';
  listed.add(list);
  return list;
}

function apiPage() {
  return withEndpointTables(readFileSync(join(ROOT, 'docs/api.md'), 'utf8'), {
    endpoints: GatewayModule.endpoints,
    commonErrors: COMMON_ERRORS,
    errors: ERRORS,
    topics: TOPICS,
  });
}
