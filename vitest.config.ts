import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import swc from 'unplugin-swc';
import { configDefaults, defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

interface TsConfig {
  readonly compilerOptions: { readonly paths: Readonly<Record<string, readonly [string]>> };
}

const fromHere = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const { compilerOptions } = JSON.parse(readFileSync(fromHere('tsconfig.json'), 'utf8')) as TsConfig;
/** Library names lead to the sources, as in the compiler's paths. */
const alias = Object.entries(compilerOptions.paths).map(([name, [path]]) => ({
  find: new RegExp(`^${name}$`),
  replacement: fromHere(path),
}));

const SECOND = 1_000;
/** Long life cycles, faults and proofs. `npm run test:all` runs them, `npm test` does not. */
const SLOW = [
  'apps/cli/test/{rescue,upgrade}.e2e-spec.ts',
  'apps/mail/test/mail-faults.e2e-spec.ts',
  'libs/messaging/test/rabbit-alarm.broker-spec.ts',
  'test/journeys/{backup,broker-restart,emails-life,expired-links,lockout-life,push-faults,redis-cluster,vendor-faults}.e2e-spec.ts',
  'test/journeys/{rolling-restart,secret-rotation,services-life,standalone,standalone-life}.e2e-spec.ts',
  'test/journeys/{console-crash,console-frame,console-life,console-page,import-life,operations,text-messages,third-party-life,vendors}.e2e-spec.ts',
];
/** Each journey occupies more than one processor; the files after them mostly wait. */
const FIRST_GROUP = { maxWorkers: 2, sequence: { groupOrder: 0 } };
const WAITING = { maxWorkers: 4, sequence: { groupOrder: 1 } };
/** At last, and two at once: each file starts several processes, and asserts durations of seconds. */
const SLOW_GROUP = { maxWorkers: 2, sequence: { groupOrder: 2 } };
const GROUPS: Readonly<Record<string, typeof WAITING>> = {
  unit: WAITING,
  database: WAITING,
  broker: WAITING,
  e2e: WAITING,
  deployment: WAITING,
  slow: SLOW_GROUP,
};
/** Files that need what this machine does not have (tools/test.mjs). */
const LEFT_OUT = (process.env['TEST_LEFT_OUT'] ?? '').split(',').filter((file) => file !== '');
/** Parts of paths. A tiny file may be the longest, which Vitest does not know. */
const LONGEST = ['/rolling-restart.', '/journeys/services.', '/journeys/standalone.', '/journeys/', '/apps/mail/test/'];
const SETUP = ['libs/testing/src/quiet.setup.ts', 'tools/test/test-file.setup.mjs'].map(fromHere);

/** One size of test: where it stands and how long one may take. */
function project(
  name: string,
  include: string[],
  timeouts: { test: number; hook: number },
): TestProjectInlineConfiguration {
  return {
    plugins: [
      swc.vite({
        tsconfigFile: false,
        jsc: {
          parser: { syntax: 'typescript', decorators: true },
          transform: { legacyDecorator: true, decoratorMetadata: true, useDefineForClassFields: true },
          target: 'es2022',
          keepClassNames: true,
        },
        module: { type: 'es6' },
      }),
    ],
    resolve: { alias },
    test: {
      name,
      include,
      exclude: [...configDefaults.exclude, ...LEFT_OUT, ...(name === 'slow' ? [] : SLOW)],
      environment: 'node',
      // Files share threads or processes: a file does not import again what another has imported.
      isolate: false,
      pool: name === 'unit' || name === 'database' ? 'threads' : 'forks',
      // Unit tests log nothing and use no broker; the others expect what goes wrong.
      setupFiles: name === 'unit' ? [] : SETUP,
      ...(GROUPS[name] ?? FIRST_GROUP),
      // A page on a busy machine takes seconds.
      ...(name === 'unit' ? {} : { expect: { poll: { timeout: 10 * SECOND } } }),
      testTimeout: timeouts.test,
      hookTimeout: timeouts.hook,
    },
  };
}

/** Starts the longest files first: one of them that begins last would run alone. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const placeOf = ({ moduleId }: TestSpecification) => {
      const place = LONGEST.findIndex((part) => moduleId.includes(part));
      return place === -1 ? LONGEST.length : place;
    };
    return sorted.sort((one, other) => placeOf(one) - placeOf(other));
  }
}

export default defineConfig({
  test: {
    passWithNoTests: false,
    sequence: { sequencer: LongestFirst },
    reporters: ['default'],
    projects: [
      project('unit', ['{apps,libs}/*/src/**/*.spec.ts', 'apps/*/web/src/**/*.spec.ts'], {
        test: 2 * SECOND,
        hook: 5 * SECOND,
      }),
      project('database', ['{apps,libs}/*/src/**/*.db-spec.ts'], { test: 30 * SECOND, hook: 60 * SECOND }),
      project('broker', ['libs/*/test/**/*.broker-spec.ts'], { test: 30 * SECOND, hook: 60 * SECOND }),
      project('e2e', ['apps/*/test/**/*.e2e-spec.ts'], { test: 30 * SECOND, hook: 60 * SECOND }),
      project('deployment', ['test/deployment/**/*.spec.ts', 'tools/test/*.spec.mjs'], {
        test: 60 * SECOND,
        hook: 90 * SECOND,
      }),
      project('journeys', ['test/journeys/**/*.e2e-spec.ts'], { test: 60 * SECOND, hook: 180 * SECOND }),
      project('slow', SLOW, { test: 60 * SECOND, hook: 180 * SECOND }),
      // Run by name only: npm run test:races, test:faults, test:hostile.
      project('races', ['test/races/**/*.e2e-spec.ts'], { test: 600 * SECOND, hook: 120 * SECOND }),
      project('faults', ['test/faults/**/*.e2e-spec.ts'], { test: 3600 * SECOND, hook: 180 * SECOND }),
      project('hostile', ['test/hostile/**/*.e2e-spec.ts'], { test: 1800 * SECOND, hook: 120 * SECOND }),
    ],
  },
});
