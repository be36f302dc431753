// Writes deploy/env.example from the variables that the apps know. With --check: compares, and looks for variables that
// docker-compose.yml passes to no service.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ensureBuilt, fail, ROOT } from './prepare.mjs';

const FILE = join(ROOT, 'deploy', 'env.example');
const LINE_LENGTH = 100;

/** Secrets of the servers that docker-compose.yml brings: no app reads them. */
const SERVER_SECRETS = {
  POSTGRES_PASSWORD:
    "Password of the database's user. PostgreSQL takes it over at its first start only. Letters and digits, as it becomes part of a URL.",
  RABBITMQ_PASSWORD: "Password of RabbitMQ's user. The same holds for it.",
  REDIS_PASSWORD: 'Password of Redis: letters and digits.',
};
const COMPOSE_ONLY = {
  GATEPOST_DOMAIN: [
    'Domain of the API, such as accounts.example.com: the entrance of docker compose gets a certificate for it, where COMPOSE_FILE names deploy/compose.tls.yml too.',
    '',
  ],
  COMPOSE_FILE: [
    'What docker compose reads: with a domain docker-compose.yml:deploy/compose.tls.yml',
    'docker-compose.yml',
  ],
  COMPOSE_PROFILES: [
    'dev starts the mail catcher as well; SMTP_URL=smtp://mailpit:1025 sends mails there, from GATEPOST_MAIL_FROM.',
    '',
  ],
  GATEPOST_CONSOLE_TRUSTED_PROXIES: [
    'GATEPOST_TRUSTED_PROXIES of the console, which docker compose puts behind no proxy.',
    '',
  ],
  PUBLISH_ADDRESS: ['Address of this machine on which docker compose publishes the ports of the entrance.', '0.0.0.0'],
};
const FIRST_APPLICATION = ['GATEPOST_APP_ID', 'GATEPOST_APP_KEY', 'GATEPOST_MASTER_KEY'];
/** docker-compose.yml and the image set these. */
const SET_BY_COMPOSE = ['NODE_ENV', 'DATABASE_URL', 'REDIS_URL', 'AMQP_URL', 'GATEPOST_DATA_DIR', 'GATEPOST_HOST'];

const HEADER = `# Every variable of Gatepost. Made from libs/bootstrap/src/environment.ts by "npm run generate".
#
# For docker compose: "sh deploy/make-env.sh" writes .env from this file and fills in what has no default. By hand:
# cp deploy/env.example .env, and give each a value (such as that of: openssl rand -hex 32).
`;

ensureBuilt();
const { environment } = await import('../dist/libs/bootstrap/src/environment.js');
const variables = environment.shape;
const defaults = environment.parse({});

const text = example();
if (process.argv.includes('--check')) check();
else writeFileSync(FILE, text);

function example() {
  const named = new Set(['GATEPOST_SECRET', ...FIRST_APPLICATION, ...SET_BY_COMPOSE]);
  const others = Object.keys(variables).filter((name) => !named.has(name));
  return [
    HEADER,
    section('Secrets. docker compose does not start without them.'),
    ...Object.entries(SERVER_SECRETS).map(([name, description]) => entry(description, `${name}=`)),
    required('GATEPOST_SECRET'),
    section('The application to create when there is none. Without an id none is created.'),
    ...FIRST_APPLICATION.map(required),
    section('What has a default, or may be left out.'),
    ...Object.entries(COMPOSE_ONLY).map(([name, [description, value]]) => entry(description, `# ${name}=${value}`)),
    ...others.map(optional),
    section('docker compose sets these itself. They are for servers that run without it.'),
    ...SET_BY_COMPOSE.map(optional),
  ].join('\n');
}

function section(title) {
  return `# --- ${title}\n`;
}

function required(name) {
  return entry(variables[name].description, `${name}=`);
}

function optional(name) {
  return entry(variables[name].description, `# ${name}=${textOf(defaults[name] ?? '')}`);
}

/** A default as it would be written: pairs as `name=value`, several values joined by commas. */
function textOf(value) {
  if (value instanceof Map) return [...value].map((pair) => pair.join('=')).join(',');
  return value instanceof Set ? [...value].join(',') : String(value);
}

function entry(description, assignment) {
  return `${wrap(description)}\n${assignment}\n`;
}

function wrap(description) {
  const lines = ['#'];
  for (const word of description.split(' ')) {
    if (lines.at(-1).length + word.length >= LINE_LENGTH) lines.push('#');
    lines.push(`${lines.pop()} ${word}`);
  }
  return lines.join('\n');
}

function check() {
  if (readFileSync(FILE, 'utf8') !== text) fail('deploy/env.example is out of date: run "npm run generate".');
  const compose = readFileSync(join(ROOT, 'docker-compose.yml'), 'utf8');
  const passed = new Set(compose.match(/\b[A-Z][A-Z0-9_]+(?=:)/g));
  const forgotten = Object.keys(variables).filter((name) => !passed.has(name) && !SET_BY_COMPOSE.includes(name));
  if (forgotten.length > 0) fail(`docker-compose.yml passes these variables to no service: ${forgotten.join(', ')}`);
}
