// Rules of syntax for every file of ours. Rules that need types are in .oxlintrc.json, boundaries between apps, libs and layers in
// .dependency-cruiser.cjs.
import comments from '@eslint-community/eslint-plugin-eslint-comments/configs';
import js from '@eslint/js';
import reactHooks from 'eslint-plugin-react-hooks';
import { defineConfig, globalIgnores } from 'eslint/config';
import globals from 'globals';
import tseslint from 'typescript-eslint';

const CODE = ['**/*.ts', '**/*.tsx', '**/*.mjs', '**/*.cjs'];
const TESTS = ['**/*.spec.ts', '**/*-spec.ts', '**/test/**', 'libs/testing/**', 'bench/**', 'vitest*.config.ts'];

const TODO = /\b(?:TODO|FIXME|XXX|HACK)\b(?!\(#\d+\))/;

/** A promise to do something later must say where it is kept. */
const todoNamesIssue = {
  meta: { type: 'suggestion', schema: [], messages: { bare: 'Write TODO(#12): a TODO names the issue that ends it.' } },
  create: (context) => ({
    Program() {
      const bare = context.sourceCode.getAllComments().filter(({ value }) => TODO.test(value));
      for (const { loc } of bare) context.report({ loc, messageId: 'bare' });
    },
  }),
};

const forwardRef = {
  name: '@nestjs/common',
  importNames: ['forwardRef'],
  message: 'It hides a cycle: move what both sides need into a third file.',
};
const broker = {
  group: ['amqplib', 'amqp-connection-manager', '@nestjs/microservices'],
  message:
    'Only libs/messaging speaks to the broker: use RpcClient, RpcHandler, EventHandler or Broadcasts of #messaging.',
};
const redis = {
  group: ['ioredis'],
  message:
    'Only libs/redis makes connections to Redis: put a script into the *.store.ts of its feature, and run it over #redis.',
};
const sql = {
  group: ['typeorm', 'pg'],
  message: 'Only libs/database and migrations know the driver: use Database and Tx of #database.',
};
const driver = { group: ['pg'], message: 'Only libs/database knows the driver: use Database, Tx and repositories.' };
const restrictImports = (...patterns) => ['error', { paths: [forwardRef], patterns }];

/** More for some files: repeat these there. */
const everywhere = [
  {
    selector: ':function[params.length>4]:not(MethodDefinition[kind="constructor"] > FunctionExpression)',
    message: 'At most 4 parameters: what belongs together becomes one object.',
  },
  {
    selector: 'MethodDefinition[kind="constructor"] > FunctionExpression[params.length>10]',
    message: 'At most 10 dependencies: split the class.',
  },
  {
    selector:
      ':matches(ClassDeclaration, TSInterfaceDeclaration, TSTypeAliasDeclaration, TSEnumDeclaration)[id.name=/^[^A-Z]|_|^I[A-Z][a-z]|(?:Dto|Helper|Impl|Manager|Utils?)$/]',
    message: 'Types are in PascalCase and named after the thing: without I, Dto, Helper, Impl, Manager or Util.',
  },
  {
    selector: ':matches(MethodDefinition[kind!="constructor"], PropertyDefinition)[accessibility="private"]',
    message: 'A private member begins with #; only a parameter property is private readonly.',
  },
];
const timeAndChance = [
  {
    selector: 'NewExpression[callee.name="Date"][arguments.length=0]',
    message: 'Time is injected: take it from Clock, or as a parameter.',
  },
  {
    selector: 'CallExpression[callee.object.name="Date"][callee.property.name="now"]',
    message: 'Time is injected: take it from Clock, or as a parameter.',
  },
  {
    selector: 'CallExpression[callee.object.name="Math"][callee.property.name="random"]',
    message: 'Chance is injected: pass what was drawn as a parameter.',
  },
];
const sqlInService = {
  selector: 'CallExpression[callee.property.name="query"]',
  message: 'SQL stands in repositories: give the statement a name there.',
};
/** `save` and `remove` of TypeORM read the row first, and decide by what they read. */
const hiddenSelect = {
  selector:
    'CallExpression > MemberExpression.callee[object.type!="ThisExpression"][property.name=/^(?:save|remove|softRemove|recover|preload)$/]',
  message: 'It reads the row before it writes: use insert, update, upsert, delete or the query builder.',
};
const loadedRelation = {
  selector: 'Decorator Property[key.name=/^(?:eager|lazy)$/]',
  message: 'A relation is never loaded by itself: write the query that needs it.',
};
const untypedText = {
  selector: 'JSXText[value=/[A-Za-z]/]',
  message: 'Texts stand in the catalogues of apps/console/web/src/texts, in every language.',
};
const rawMarkup = {
  selector: 'JSXAttribute[name.name="dangerouslySetInnerHTML"]',
  message: 'Data of users is text. A preview stands in a sandboxed frame.',
};
const controllerLogic = {
  selector: ':matches(TryStatement, ForStatement, ForInStatement, ForOfStatement, WhileStatement, DoWhileStatement)',
  message: 'A controller of the gateway passes on and answers: loops belong to a service, errors to the filter.',
};

export default defineConfig(
  globalIgnores(['coverage/', 'data/', '**/dist/']),

  {
    name: 'all code',
    files: CODE,
    extends: [js.configs.recommended, comments.recommended],
    plugins: { gatepost: { rules: { 'todo-names-issue': todoNamesIssue } } },
    linterOptions: { reportUnusedDisableDirectives: 'error', reportUnusedInlineConfigs: 'error' },
    languageOptions: { globals: globals.node },
    rules: {
      complexity: ['error', 10],
      eqeqeq: 'error',
      'max-depth': ['error', 3],
      'max-lines': ['error', { max: 300, skipBlankLines: false, skipComments: false }],
      'max-lines-per-function': ['error', { max: 50, skipBlankLines: false, skipComments: false }],
      'no-nested-ternary': 'error',
      'no-else-return': ['error', { allowElseIf: false }],
      'no-restricted-imports': restrictImports(broker, redis, sql),
      'no-restricted-syntax': ['error', ...everywhere],
      'no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_', ignoreRestSiblings: true }],
      'object-shorthand': 'error',
      'prefer-const': 'error',
      'prefer-template': 'error',
      '@eslint-community/eslint-comments/disable-enable-pair': ['error', { allowWholeFile: true }],
      '@eslint-community/eslint-comments/require-description': 'error',
      'gatepost/todo-names-issue': 'error',
    },
  },

  {
    name: 'pages',
    files: ['libs/push-client/example/*.js', 'apps/console/web/public/**/*.js'],
    extends: [js.configs.recommended],
    languageOptions: { globals: globals.browser },
  },

  {
    name: 'TypeScript',
    files: ['**/*.ts', '**/*.tsx'],
    extends: [tseslint.configs.strict, tseslint.configs.stylistic],
    // As in tsconfig.json: consistent-type-imports leaves files with decorators alone by them.
    languageOptions: { parserOptions: { emitDecoratorMetadata: true, experimentalDecorators: true } },
    rules: {
      'no-restricted-properties': [
        'error',
        {
          object: 'process',
          property: 'env',
          message:
            'The environment is read once: loadConfig in main.ts, then injected. Add the variable to libs/bootstrap/src/environment.ts.',
        },
      ],
      'max-depth': ['error', 2],
      'no-unused-vars': 'off',
      // It leaves files with decorators alone: there a type-only import would take away what Nest injects by.
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      '@typescript-eslint/explicit-module-boundary-types': 'error',
      // Nest's modules and controllers are classes, whatever is in them.
      '@typescript-eslint/no-extraneous-class': ['error', { allowWithDecorator: true }],
      '@typescript-eslint/no-import-type-side-effects': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
    },
  },

  {
    name: 'where the environment is read',
    files: ['apps/*/src/main.ts', 'libs/bootstrap/src/run.ts', ...TESTS],
    rules: { 'no-restricted-properties': 'off' },
  },
  {
    name: 'services, controllers, handlers and rules',
    files: ['**/*.{service,controller,handlers,rules}.ts', 'apps/console/src/http/*.ts'],
    rules: { 'no-restricted-syntax': ['error', ...everywhere, ...timeAndChance, sqlInService] },
  },
  {
    name: 'controllers of the gateway',
    files: ['apps/gateway/**/*.controller.ts'],
    rules: {
      'no-restricted-syntax': ['error', ...everywhere, sqlInService, controllerLogic],
    },
  },
  {
    name: 'the broker',
    files: ['libs/messaging/**', 'apps/*/src/main.ts'],
    rules: { 'no-restricted-imports': restrictImports(redis, sql) },
  },
  {
    name: 'Redis',
    files: ['libs/redis/**'],
    rules: { 'no-restricted-imports': restrictImports(broker, sql) },
  },
  {
    name: 'SQL',
    files: ['libs/database/**', 'apps/*/src/migrations/**'],
    rules: { 'no-restricted-imports': restrictImports(broker, redis) },
  },
  {
    name: 'entities and repositories',
    files: ['{apps,libs}/*/src/**/*.{entity,repository}.ts'],
    rules: {
      'no-restricted-imports': restrictImports(broker, redis, driver),
      'no-restricted-syntax': ['error', ...everywhere, loadedRelation, hiddenSelect],
    },
  },

  {
    name: 'the page of the console',
    files: ['apps/console/web/src/**'],
    extends: [reactHooks.configs.flat['recommended-latest']],
    languageOptions: { globals: globals.browser },
    rules: {
      'no-restricted-syntax': ['error', ...everywhere, untypedText, rawMarkup],
      // Markup is long and flat, with an attribute a line: a component may be as long as its table of columns and fields.
      'max-lines': ['error', { max: 400, skipBlankLines: false, skipComments: false }],
      'max-lines-per-function': ['error', { max: 110, skipBlankLines: false, skipComments: false }],
    },
  },
  {
    name: 'the catalogues of the page',
    files: ['apps/console/web/src/texts/{en,zh}.ts'],
    // One language is one table: its length is the number of its texts.
    rules: { 'max-lines': 'off', '@typescript-eslint/explicit-module-boundary-types': 'off' },
  },

  {
    name: 'tests',
    files: TESTS,
    rules: {
      // A `describe` is a function of any length, and a table of cases a file of any length.
      'max-lines': ['error', 500],
      'max-lines-per-function': 'off',
      'max-depth': ['error', 3],
      // Tests look at the servers behind the libraries, and import the real drivers for it.
      'no-restricted-imports': restrictImports(),
      '@typescript-eslint/no-non-null-assertion': 'off',
    },
  },
);
