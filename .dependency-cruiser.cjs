// Which file may import which. A rule's comment says what to do instead.
const SPEC = String.raw`[.-]spec\.ts$`;
const TEST_FOLDER = String.raw`^(?:test|bench|libs/testing)/|^(?:apps|libs)/[^/]+/test/`;
const TESTS = [SPEC, TEST_FOLDER];
/** Started by Node, or loaded by a page. */
const ENTRIES = [String.raw`/main\.tsx?$`, '^libs/push-client/example/', '^apps/console/web/(?:public/|vite)'];
/** They may use typeorm's decorators and `Repository`. */
const ENTITY_FILES = [String.raw`\.entity\.ts$`, String.raw`\.repository\.ts$`];
const SQL_DRIVERS = '(?:^|/)node_modules/(?:typeorm|pg|pg-[^/]+)/';

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    {
      name: 'no-circular',
      comment: 'Move what both sides need into a third file.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'no-orphans',
      comment: 'Nothing imports the file and it imports nothing: remove it, or wire it up.',
      severity: 'error',
      from: { orphan: true, pathNot: [...TESTS, ...ENTRIES, String.raw`\.d\.ts$`] },
      to: {},
    },
    {
      name: 'no-unresolvable',
      comment: 'The import leads nowhere.',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
    {
      name: 'no-undeclared-packages',
      comment: 'Add the package to dependencies; the runtime image has no others.',
      severity: 'error',
      from: { path: '^(?:apps|libs)/', pathNot: [...TESTS, '^apps/console/web/'] },
      to: { dependencyTypes: ['npm-no-pkg', 'npm-unknown', 'npm-dev'], dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'apps-do-not-import-apps',
      comment:
        'Services talk by RPC and events of libs/contracts. What two apps share moves into a lib of its own purpose.',
      severity: 'error',
      from: { path: '^apps/([^/]+)/', pathNot: [...TESTS, '^apps/(?:standalone|cli)/'] },
      to: { path: '^apps/', pathNot: '^apps/$1/' },
    },
    {
      name: 'standalone-imports-modules-only',
      comment:
        "Standalone wires the other apps' modules, configurations, databases and HTTP server, and holds no logic.",
      severity: 'error',
      from: { path: '^apps/standalone/', pathNot: TESTS },
      to: {
        path: '^apps/(?!standalone/)',
        pathNot: [String.raw`\.(?:module|config|database)\.ts$`, '/http-server\\.ts$'],
      },
    },
    {
      name: 'cli-imports-databases-only',
      comment: 'The command line migrates databases; everything else it asks of the services by RPC.',
      severity: 'error',
      from: { path: '^apps/cli/', pathNot: TESTS },
      to: { path: '^apps/(?!cli/)', pathNot: String.raw`\.database\.ts$` },
    },
    {
      name: 'page-knows-only-the-contract',
      comment: 'The page of the console runs in a browser: it knows packages and the routes of its API.',
      severity: 'error',
      from: { path: '^apps/console/web/' },
      to: { path: '^(?:apps|libs)/', pathNot: '^apps/console/(?:web|src/api)/' },
    },
    {
      name: 'page-is-not-imported',
      comment: 'The service of the console serves the built page as files.',
      severity: 'error',
      from: { pathNot: '^apps/console/web/' },
      to: { path: '^apps/console/web/' },
    },
    {
      name: 'libs-do-not-import-apps',
      comment: 'A library knows none of its users: pass in what it needs.',
      severity: 'error',
      from: { path: '^libs/', pathNot: TESTS },
      to: { path: '^apps/' },
    },
    {
      name: 'errors-is-a-leaf',
      comment: 'Everyone imports libs/errors, so it imports nothing of ours.',
      severity: 'error',
      from: { path: '^libs/errors/', pathNot: TESTS },
      to: { path: '^(?:apps|libs)/', pathNot: '^libs/errors/' },
    },
    {
      name: 'contracts-is-a-leaf',
      comment: 'Contracts are shapes that cross processes: they import nothing of ours.',
      severity: 'error',
      from: { path: '^libs/contracts/', pathNot: TESTS },
      to: { path: '^(?:apps|libs)/', pathNot: '^libs/contracts/' },
    },
    {
      name: 'console-routes-are-a-leaf',
      comment:
        'The routes of the console are part of its page: they import nothing of ours, least of all contracts with keys.',
      severity: 'error',
      from: { path: '^apps/console/src/api/', pathNot: TESTS },
      to: { path: '^(?:apps|libs)/', pathNot: '^apps/console/src/api/' },
    },
    {
      name: 'gateway-has-no-database',
      comment: 'The gateway owns no table: ask the service that does, by RPC.',
      severity: 'error',
      from: { path: '^apps/gateway/', pathNot: TESTS },
      to: { path: ['^libs/(?:database|objects/src/store)/', SQL_DRIVERS] },
    },
    {
      name: 'controllers-skip-no-layer',
      comment:
        "A controller of the gateway calls a service or RpcClient, never a repository or a store. A service's own controllers may: SQL still stands in repositories.",
      severity: 'error',
      from: { path: String.raw`^apps/gateway/.*\.controller\.ts$` },
      to: { path: [String.raw`\.(?:repository|store)\.ts$`, '^libs/database/', SQL_DRIVERS] },
    },
    {
      name: 'rules-are-pure',
      comment:
        'Rules decide on plain values. They know other rules, rows, types, the types of entities, contracts, routes of the console, errors and objects (without store): no I/O, no package, and not even a type of a repository or a service (put the shape into a *.row.ts or *.types.ts).',
      severity: 'error',
      from: { path: String.raw`\.rules\.ts$` },
      to: {
        pathNot: [
          String.raw`\.(?:rules|row|types|entity)\.ts$`,
          '^libs/(?:contracts|errors)/',
          '^apps/console/src/api/',
          '^libs/objects/src/(?!store/)',
        ],
      },
    },
    {
      name: 'rules-know-only-types-of-entities',
      comment: 'The class of an entity belongs to its repository.',
      severity: 'error',
      from: { path: String.raw`\.rules\.ts$` },
      to: { path: String.raw`\.entity\.ts$`, dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'only-repositories-query',
      comment: 'SQL stands in repositories and migrations. Services know Database and Tx as types that they hand on.',
      severity: 'error',
      from: {
        path: '^(?:apps|libs)/',
        pathNot: [...TESTS, '^libs/database/', String.raw`^apps/[^/]+/src/migrations/`, ...ENTITY_FILES],
      },
      to: { path: SQL_DRIVERS },
    },
    {
      name: 'entities-and-repositories-know-no-driver',
      comment: 'Entities and repositories use typeorm and Database; only libs/database knows node-postgres.',
      severity: 'error',
      from: { path: ENTITY_FILES, pathNot: [...TESTS, '^libs/database/'] },
      to: { path: '(?:^|/)node_modules/(?:pg|pg-[^/]+)/' },
    },
    {
      name: 'broker-through-messaging',
      comment: 'Only libs/messaging speaks to the broker: use RpcClient, RpcHandler, EventHandler or Broadcasts.',
      severity: 'error',
      from: { path: '^(?:apps|libs)/', pathNot: [...TESTS, '^libs/messaging/', String.raw`/main\.ts$`] },
      to: { path: '(?:^|/)node_modules/(?:amqplib|amqp-connection-manager|@nestjs/microservices)/' },
    },
    {
      name: 'ioredis-through-redis',
      comment: 'Only libs/redis makes connections to Redis: run a script over #redis.',
      severity: 'error',
      from: { path: '^(?:apps|libs)/', pathNot: [...TESTS, '^libs/redis/'] },
      to: { path: '(?:^|/)node_modules/ioredis/' },
    },
    {
      name: 'redis-through-stores',
      comment: 'Only a *.store.ts speaks to Redis, in scripts that stand there; modules wire it.',
      severity: 'error',
      from: {
        path: '^(?:apps|libs)/',
        pathNot: [...TESTS, '^libs/redis/', String.raw`(?:\.store|\.module|/main)\.ts$`],
      },
      to: { path: '^libs/redis/' },
    },
    {
      name: 'libs-through-index-only',
      comment:
        'Import #name. What the index does not export is private to the lib. A JavaScript file is for threads, which run no TypeScript.',
      severity: 'error',
      from: { path: '^(?:apps/|bench/|test/|libs/([^/]+)/)' },
      to: {
        path: '^libs/',
        pathNot: [
          String.raw`^libs/[^/]+/src/(?:(?:store/)?index|passwords/password-hasher)\.ts$`,
          String.raw`^libs/[^/]+/src/[^/]+\.mjs$`,
          '^libs/$1/',
        ],
      },
    },
    {
      name: 'testing-only-from-tests',
      comment: 'libs/testing starts servers and makes fixtures: production code has no use for it.',
      severity: 'error',
      from: { path: '^(?:apps|libs)/', pathNot: TESTS },
      to: { path: '^libs/testing/' },
    },
    {
      name: 'tests-are-not-imported',
      comment: 'What two tests share belongs in libs/testing.',
      severity: 'error',
      from: {},
      to: { path: SPEC },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^(?:coverage|data)/|(?:^|/)dist/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    combinedDependencies: false,
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default', 'types'],
      extensions: ['.ts', '.tsx', '.js', '.mjs', '.cjs', '.json', '.d.ts'],
    },
  },
};
