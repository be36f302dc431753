import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { brokerEnvironment, environment, serviceEnvironment } from '#bootstrap';
import { ERRORS } from '#errors';
import { accountsEnvironment } from '../../apps/accounts/src/accounts.config.js';
import { authLinkingEnvironment } from '../../apps/auth-linking/src/auth-linking.config.js';
import { consoleEnvironment } from '../../apps/console/src/console.config.js';
import { gatewayEnvironment } from '../../apps/gateway/src/gateway.config.js';
import { GatewayModule } from '../../apps/gateway/src/gateway.module.js';
import { mailEnvironment } from '../../apps/mail/src/mail.config.js';
import { pushDeliveryEnvironment } from '../../apps/push-delivery/src/push-delivery.config.js';

interface ComposeService {
  readonly cap_add?: readonly string[];
  readonly build?: { readonly args: { readonly APP: string } };
  readonly command?: readonly string[];
  readonly user?: string;
  readonly environment?: Readonly<Record<string, string | null>>;
  readonly image?: string;
  readonly init?: boolean;
  readonly networks?: readonly string[];
  readonly ports?: readonly string[];
  readonly profiles?: readonly string[];
  readonly pull_policy?: string;
}

const ROOT = join(import.meta.dirname, '../..');
const SERVICES = {
  accounts: accountsEnvironment,
  'auth-linking': authLinkingEnvironment,
  console: consoleEnvironment,
  gateway: gatewayEnvironment,
  mail: mailEnvironment,
  'push-delivery': pushDeliveryEnvironment,
};
/** The image sets them, or they are right as they are within a container. */
const SET_BY_IMAGE = new Set(['NODE_ENV', 'GATEPOST_DATA_DIR', 'GATEPOST_HOST', 'GATEPOST_PORT']);
/** Apps that run once, on command; and the one that needs no compose. */
const NO_SERVICES = ['cli', 'standalone'];
const OPERATORS_PATHS = ['/healthz', '/metrics', '/readyz'];

const compose = parse(readFileSync(join(ROOT, 'docker-compose.yml'), 'utf8'), { merge: true }) as {
  readonly services: Readonly<Record<string, ComposeService>>;
};
const examples = readFileSync(join(ROOT, 'deploy/env.example'), 'utf8');
const caddyfile = readFileSync(join(ROOT, 'deploy/caddy/Caddyfile'), 'utf8');

/** The patterns of a path matcher. */
function patternsOf(matcher: string): string[] {
  return new RegExp(String.raw`^\s*@${matcher} path (.+)$`, 'm').exec(caddyfile)?.[1]?.split(' ') ?? [];
}

function isPassed(path: string): boolean {
  return patternsOf('api').some((pattern) =>
    pattern.endsWith('*') ? path.startsWith(pattern.slice(0, -1)) : path === pattern,
  );
}

describe('docker-compose.yml', () => {
  it('starts Redis with the password that its clients have', () => {
    const { command } = compose.services['redis'] ?? {};
    expect(command?.slice(-2)).toEqual(['--requirepass', '${REDIS_PASSWORD:-}']);
  });

  it('fills an empty volume of Redis with a backup, as an AOF of which it is the base', () => {
    const { command = [], user } = compose.services['redis-restore'] ?? {};
    const [program = '', ...args] = command;
    const cwd = mkdtempSync(join(tmpdir(), 'gatepost-redis-'));
    const restore = (input: string) => spawnSync(program, args, { cwd, input }).status;
    try {
      expect([user, restore('the backup'), restore('another')]).toEqual(['redis', 0, 1]);
      const [base = '', manifest = ''] = readdirSync(join(cwd, 'appendonlydir'));
      expect(readFileSync(join(cwd, 'appendonlydir', manifest), 'utf8')).toBe(`file ${base} seq 1 type b\n`);
      expect(readFileSync(join(cwd, 'appendonlydir', base), 'utf8')).toBe('the backup');
    } finally {
      rmSync(cwd, { recursive: true });
    }
  });

  it('reads all that it needs of a clone whose files only their owner may read', () => {
    expect(compose.services['caddy']?.cap_add).toContain('DAC_OVERRIDE');
    const dockerfile = readFileSync(join(ROOT, 'deploy/Dockerfile'), 'utf8');
    const last = dockerfile.slice(dockerfile.lastIndexOf('\nFROM '));
    expect(/^COPY (?!--from)(.+) \.\/$/m.exec(last)?.[1]).toBe('package.json LICENSE*');
    expect(last).toContain('chmod a+r package.json LICENSE*');
    expect(dockerfile).toMatch(/^RUN npm run build .*chmod -R a\+rX dist$/m);
  });

  it('has every service that the documents name', () => {
    const text = readFileSync(join(ROOT, 'docs/operations.md'), 'utf8');
    const commands = /docker compose (?:exec(?: -T)?|run --rm(?: -T)?|cp|up -d(?: --wait| --no-deps)) ([a-z][a-z-]*)/g;
    const names = [...text.matchAll(commands)].map(([, name = '']) => name);
    expect(names).toContain('redis-restore');
    expect(names.filter((name) => !(name in compose.services))).toEqual([]);
  });

  it('runs every service', () => {
    const apps = readdirSync(join(ROOT, 'apps')).filter((app) => !NO_SERVICES.includes(app));
    expect(Object.keys(SERVICES)).toEqual(apps.toSorted());
    expect(apps.filter((app) => compose.services[app]?.build?.args.APP !== app)).toEqual([]);
  });

  it('has a build without profiles renew the command line, which Ctrl-C ends', () => {
    const isOfCli = ({ build }: ComposeService) => build?.args.APP === 'cli';
    const made = Object.values(compose.services).filter(isOfCli);
    expect(made.map(({ image, pull_policy: pulls, init }) => [image, pulls, init])).toEqual([
      ['gatepost-cli', 'never', true],
      ['gatepost-cli', 'never', true],
    ]);
    expect(made.filter(({ profiles }) => profiles === undefined)).toEqual([compose.services['migrate']]);
  });

  it.each(['DATABASE_URL', 'REDIS_URL', 'AMQP_URL'])('protects the server of %s by a password of .env', (name) => {
    const urls = Object.keys(SERVICES).map((service) => compose.services[service]?.environment?.[name] ?? null);
    const given = urls.filter((url) => url !== null);
    expect(given.length).toBeGreaterThan(1);
    for (const url of given) expect(url).toMatch(/^\w+:\/\/\w*:\$\{[A-Z]+_PASSWORD:\?set /);
  });

  it.each(Object.entries(SERVICES))('gives %s every variable that it reads', (name, { shape }) => {
    const read = Object.keys({ ...shape, ...serviceEnvironment.shape, ...brokerEnvironment.shape });
    const given = compose.services[name]?.environment ?? {};
    expect(read.filter((variable) => !(variable in given) && !SET_BY_IMAGE.has(variable))).toEqual([]);
  });

  it('gives services of ours no unknown variable', () => {
    const ours = Object.values(compose.services).filter(({ build }) => build !== undefined);
    const given = ours.flatMap((service) => Object.entries(service.environment ?? {}));
    const unknown = given.filter(([name]) => !(name in environment.shape));
    // `migrate` gets the whole .env, and refuses unknown variables: those that only Compose reads are emptied there.
    const ofCompose = [...new Set(examples.match(/\bGATEPOST_[A-Z_]+\b/g))].filter(
      (name) => !(name in environment.shape),
    );
    expect(ofCompose).toContain('GATEPOST_DOMAIN');
    expect(Object.fromEntries(unknown)).toEqual(Object.fromEntries(ofCompose.map((name) => [name, ''])));
    expect(compose.services['migrate']?.environment).toMatchObject(Object.fromEntries(unknown));
  });

  it("has every service among the targets of Prometheus' example", () => {
    interface Job {
      readonly job_name: string;
      readonly dns_sd_configs?: readonly { readonly names: readonly string[]; readonly port: number }[];
    }
    const text = readFileSync(join(ROOT, 'deploy/observability/prometheus.yml'), 'utf8');
    const { scrape_configs: jobs } = parse(text) as { readonly scrape_configs: readonly Job[] };
    const targets = jobs.flatMap(({ job_name: job, dns_sd_configs: found = [] }) =>
      found.map(({ names, port }) => [job, names.join(), port]),
    );
    const portOf = (name: string) => Number(compose.services[name]?.environment?.['GATEPOST_CONSOLE_PORT'] ?? 8080);
    expect(targets.toSorted()).toEqual(Object.keys(SERVICES).map((name) => [`gatepost-${name}`, name, portOf(name)]));
  });

  it('lets clients in by the entrance only, and operators on this machine', () => {
    const published = Object.entries(compose.services).filter(([, { ports }]) => ports !== undefined);
    expect(published.map(([name]) => name)).toEqual(['caddy', 'console', 'mailpit']);
    // It is behind no proxy: what a client says of its address must not count.
    const proxies = compose.services['console']?.environment?.['GATEPOST_TRUSTED_PROXIES'];
    expect(proxies).toBe('${GATEPOST_CONSOLE_TRUSTED_PROXIES:-}');
    expect(compose.services['console']?.ports).toEqual(['127.0.0.1:${GATEPOST_CONSOLE_PORT:-8090}:8090']);
    expect(compose.services['mailpit']?.ports).toEqual(['127.0.0.1:8025:8025']);
    expect(compose.services['caddy']?.networks).toEqual(['edge']);
  });
});

describe('the entrance', () => {
  const paths = GatewayModule.endpoints.flatMap((endpoint) => endpoint.paths);

  it('passes every endpoint, and nothing that is for operators', () => {
    expect(paths.filter((path) => !isPassed(path)).toSorted()).toEqual(OPERATORS_PATHS);
  });

  it.each(['NOT_FOUND', 'PAYLOAD_TOO_LARGE', 'SERVICE_UNAVAILABLE'] as const)('answers %s as the API does', (name) => {
    const { code, message } = ERRORS[name];
    expect(caddyfile).toContain(`respond \`${JSON.stringify({ code, error: message })}\``);
  });

  it('takes devices to where connectors expect them', () => {
    expect(patternsOf('devices')).toEqual(['/push']);
  });
});
