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

/** The maximum length of a Unix socket path on both Linux and macOS, in bytes. */
const MAX_SOCKET_PATH_BYTES = 103;

const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** A start that failed for a reason that the operator can fix. The message is one line; the stack is not shown. */
export class StartError extends Error {
  override readonly name = 'StartError';
}

export interface RunningProcess {
  stop(): Promise<void>;
  readonly port?: number;
  /** Resolves with the reason where the process cannot continue. */
  readonly lost?: Promise<Error>;
}

/** Stops on a signal. Exit status: 0 after a clean stop, 1 where the start failed, 70 after an internal failure. */
export async function run(start: () => Promise<RunningProcess>): Promise<void> {
  // A write to a closed terminal or pipe must not end the process in the middle of its stop.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  const starting = Promise.resolve().then(start);
  let stopping: Promise<void> | undefined;
  const stopOnce = (status: number) => (stopping ??= stop(starting, status));
  for (const signal of STOP_SIGNALS) process.on(signal, () => void stopOnce(0));
  try {
    const { port, lost } = await starting;
    process.send?.({ port }, undefined, undefined, () => undefined);
    void lost?.then((reason) => {
      process.stderr.write(`${reason.message}\n`);
      return stopOnce(70);
    });
  } catch (error) {
    process.stderr.write(`${describe(error)}\n`);
    process.exit(1);
  }
}

async function stop(starting: Promise<RunningProcess>, status: number): Promise<void> {
  try {
    await (await starting).stop();
    process.exit(status);
  } catch (error) {
    process.stderr.write(`${describe(error)}\n`);
    process.exit(70);
  }
}

function describe(error: unknown): string {
  if (error instanceof ConfigError || error instanceof StartError) return error.message;
  if (!(error instanceof Error)) return String(error);
  const texts = {
    inUse: 'is already in use, possibly by another Gatepost. Choose another port with GATEPOST_PORT.',
    other: 'Change GATEPOST_PORT or GATEPOST_HOST.',
  };
  return listenProblem(error, 'Gatepost', texts) ?? error.stack ?? error.message;
}

interface ListenFailure extends NodeJS.ErrnoException {
  readonly port?: number;
  readonly address?: string;
  readonly hostname?: string;
}

/** Undefined for other errors. @param texts the end of the text: after the name of a port in use, and after any other reason */
export function listenProblem(
  error: unknown,
  server: string,
  texts: { readonly inUse: string; readonly other: string },
): string | undefined {
  const { code, syscall, port, address, hostname }: ListenFailure = error as NodeJS.ErrnoException;
  if (syscall === 'getaddrinfo') return `${server} cannot listen on ${hostname} (${code}). ${texts.other}`;
  if (syscall !== 'listen' || port === undefined) return undefined;
  if (code === 'EADDRINUSE') return `Port ${port} ${texts.inUse}`;
  return `${server} cannot listen on port ${port} of ${address} (${code}). ${texts.other}`;
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

function problemIn(issue: z.core.$ZodIssue): string {
  // All values are texts: only a missing one has another type.
  if (issue.code === 'invalid_type') return 'must be set, as deploy/env.example describes';
  return issue.code === 'invalid_value' ? `must be ${issue.values.join(' or ')}` : issue.message;
}

/** Parses an app's variables. @throws ConfigError that lists all problems at once. */
export function loadConfig<S extends z.ZodObject>(schema: S, env: NodeJS.ProcessEnv): Readonly<z.output<S>> {
  // An empty value counts as unset: compose files and shells pass optional variables that way.
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
  const parsed = schema.safeParse(given);
  const problems = [
    ...unknownKeys(given),
    ...missingInProduction(schema.shape, given),
    ...(parsed.error?.issues.map((issue) => `${String(issue.path[0])}: ${problemIn(issue)}`) ?? []),
  ];
  if (problems.length > 0 || !parsed.success) throw new ConfigError(problems);
  return Object.freeze(parsed.data);
}

/** The operator socket of the standalone server with this data folder. The shorter of the absolute and the relative path is used. */
export function operatorSocketPath(dataDirectory: string): string {
  const absolute = join(dataDirectory, 'gatepost.sock');
  const fromHere = relative(process.cwd(), absolute);
  return fromHere.length < absolute.length ? fromHere : absolute;
}

export function isSocketPathTooLong(path: string): boolean {
  return Buffer.byteLength(path) > MAX_SOCKET_PATH_BYTES;
}
