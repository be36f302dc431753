import { join, relative } from 'node:path';
import { z } from 'zod';
import { environment, SERVER_URLS } from './environment.js';

const OWN_PREFIX = 'GATEPOST_';

/** The environment is invalid. The message lists every problem by the variable's name, never by its value. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';

  constructor(readonly problems: readonly string[]) {
    super(
      `The environment has ${problems.length === 1 ? 'a problem' : `${problems.length} problems`}:\n  ${problems.join('\n  ')}`,
    );
  }
}

function unknownKeys(env: NodeJS.ProcessEnv): string[] {
  return Object.keys(env)
    .filter((key) => key.startsWith(OWN_PREFIX) && !Object.hasOwn(environment.shape, key))
    .map((key) => `${key}: unknown variable (a typing error?)`);
}

/** Only the development defaults of server URLs are refused in production; each app decides which of its variables are optional. */
function missingInProduction(shape: z.core.$ZodShape, env: NodeJS.ProcessEnv): string[] {
  if (env['NODE_ENV'] !== 'production') return [];
  const missing = SERVER_URLS.filter((key) => shape[key] instanceof z.ZodDefault && !env[key]);
  return missing.map((key) => `${key}: must be set in production`);
}

/** Parses an app's variables. @throws ConfigError that lists all problems at once. */
export function loadConfig<S extends z.ZodObject>(schema: S, env: NodeJS.ProcessEnv): Readonly<z.output<S>> {
  // An empty value counts as unset: compose files and shells pass optional variables that way.
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
  const parsed = schema.safeParse(given);
  const problems = [
    ...unknownKeys(given),
    ...missingInProduction(schema.shape, given),
    ...(parsed.error?.issues.map((issue) => `${String(issue.path[0])}: ${issue.message}`) ?? []),
  ];
  if (problems.length > 0 || !parsed.success) throw new ConfigError(problems);
  return Object.freeze(parsed.data);
}

/** The maximum length of a Unix socket path on both Linux and macOS, in bytes. */
const MAX_SOCKET_PATH_BYTES = 103;

/** The operator socket of the standalone server with this data folder. The shorter of the absolute and the relative path is used. */
export function operatorSocketPath(dataDirectory: string): string {
  const absolute = join(dataDirectory, 'gatepost.sock');
  const fromHere = relative(process.cwd(), absolute);
  return fromHere.length < absolute.length ? fromHere : absolute;
}

export function isSocketPathTooLong(path: string): boolean {
  return Buffer.byteLength(path) > MAX_SOCKET_PATH_BYTES;
}
