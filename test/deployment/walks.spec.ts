import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const PAGE = readFileSync(join(ROOT, 'docs/architecture.md'), 'utf8');
const WALKS = [
  { title: 'The way of a sign-up', limit: 15 },
  { title: 'The files of a push', limit: 20 },
];
const LINE = /^(\d+)\. \[`([^`]+)`\]\(\.\.\/([^)]+)\)(?: \(([a-z ]+) `([^`]+)`\))?: \S/i;

/** A line of a list: `1. [file](link) (kind name): text`. The brackets say how a file that no earlier one imports is reached. */
interface Step {
  readonly file: string;
  readonly link?: { readonly kind: string; readonly name: string } | undefined;
}

/** The facts about a file that the chain of a list needs. */
interface Source {
  readonly syntax: ts.SourceFile;
  /** Imported names of our own, each with the file that defines it. */
  readonly imports: ReadonlyMap<string, string>;
  /** Names of called functions, methods and decorators, with the texts of their arguments. */
  readonly calls: readonly { readonly name: string; readonly given: readonly string[] }[];
}

function section(title: string): string {
  return PAGE.split(`\n## ${title}\n`)[1]?.split('\n## ')[0] ?? '';
}

/** @throws Error for a line that has another form */
function stepsOf(title: string): Step[] {
  const lines = section(title)
    .split('\n')
    .filter((line) => /^\d+\./.test(line));
  return lines.map((line, index) => {
    const [, place, file = '', target, kind, name] = LINE.exec(line) ?? [];
    if (Number(place) !== index + 1 || file !== target) throw new Error(`not the form of a step: ${line}`);
    return kind === undefined || name === undefined ? { file } : { file, link: { kind, name } };
  });
}

const sources = new Map<string, Source>();

/** @throws Error where there is no such file */
function sourceOf(file: string): Source {
  const known = sources.get(file);
  if (known !== undefined) return known;
  const syntax = ts.createSourceFile(file, readFileSync(join(ROOT, file), 'utf8'), ts.ScriptTarget.Latest, true);
  const calls = nodesOf(syntax, ts.isCallExpression).map(({ expression, arguments: given }) => ({
    name: nameOf(expression),
    given: given.map((argument) => argument.getText()),
  }));
  const source = { syntax, imports: new Map(importsOf(file, syntax)), calls };
  sources.set(file, source);
  return source;
}

function importsOf(file: string, syntax: ts.SourceFile): [name: string, definedIn: string][] {
  return syntax.statements.filter(ts.isImportDeclaration).flatMap((statement) => {
    const target = resolve(file, textOf(statement.moduleSpecifier));
    const bindings = statement.importClause?.namedBindings;
    if (target === undefined || bindings === undefined || !ts.isNamedImports(bindings)) return [];
    return bindings.elements.map(({ name, propertyName }): [string, string] => [
      name.text,
      definingFile(target, (propertyName ?? name).text),
    ]);
  });
}

/** The compiled files of the names that begin with `#`. */
const { imports: ALIASES } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  readonly imports: Readonly<Record<string, string>>;
};

/** The file that an import names; undefined for a package. */
function resolve(from: string, specifier: string): string | undefined {
  const file = specifier.startsWith('.') ? join(dirname(from), specifier) : ALIASES[specifier];
  return file?.replace('./dist/', '').replace(/\.js$/, '.ts');
}

/** Follows the exports of an index to the file that they come from. */
function definingFile(file: string, name: string): string {
  if (!file.endsWith('/index.ts')) return file;
  const { statements } = ts.createSourceFile(file, readFileSync(join(ROOT, file), 'utf8'), ts.ScriptTarget.Latest);
  for (const { exportClause, moduleSpecifier } of statements.filter(ts.isExportDeclaration)) {
    const target = moduleSpecifier && resolve(file, textOf(moduleSpecifier));
    if (target !== undefined && exports(exportClause, target, name)) return definingFile(target, name);
  }
  return file;
}

/** Whether the clause exports the name of the target; `export *` has no clause. */
function exports(clause: ts.NamedExportBindings | undefined, target: string, name: string): boolean {
  if (clause !== undefined) return ts.isNamedExports(clause) && clause.elements.some((one) => one.name.text === name);
  const declared = new RegExp(String.raw`^export (?:const|type|interface|function|class) ${name}\b`, 'm');
  return declared.test(readFileSync(join(ROOT, target), 'utf8'));
}

function textOf(node: ts.Node): string {
  return ts.isStringLiteralLike(node) ? node.text : '';
}

function nodesOf<T extends ts.Node>(root: ts.Node, isWanted: (node: ts.Node) => node is T): T[] {
  const found: T[] = [];
  const visit = (node: ts.Node): void => {
    if (isWanted(node)) found.push(node);
    ts.forEachChild(node, visit);
  };
  visit(root);
  return found;
}

/** Whether the file calls a function or method of this name with this argument, as a decorator too. */
function isCalled(file: string, callee: string, argument: string): boolean {
  return sourceOf(file).calls.some(({ name, given }) => name === callee && given.includes(argument));
}

function nameOf(callee: ts.Expression): string {
  return ts.isPropertyAccessExpression(callee) ? callee.name.text : callee.getText();
}

/** Routes of a file's controllers, such as `POST /1.1/users`. */
function routesOf(file: string): string[] {
  return nodesOf(sourceOf(file).syntax, ts.isClassDeclaration).flatMap((one) => {
    const prefixes = decorations(one).flatMap(([name, paths]) => (name === 'Controller' ? paths : []));
    const methods = one.members.flatMap(decorations).filter(([name]) => /^(?:Get|Post|Put|Delete)$/.test(name));
    return prefixes.flatMap((prefix) =>
      methods.flatMap(([verb, paths]) =>
        paths.map((path) => `${verb.toUpperCase()} /${[prefix, path].filter((part) => part !== '').join('/')}`),
      ),
    );
  });
}

/** Decorators of a class or member that are called, each with the texts of its first argument. */
function decorations(node: ts.Node): [name: string, texts: string[]][] {
  const decorators = ts.canHaveDecorators(node) ? (ts.getDecorators(node) ?? []) : [];
  const calls = decorators.map(({ expression }) => expression).filter(ts.isCallExpression);
  return calls.map(({ expression, arguments: [first] }) => {
    const texts =
      first && ts.isArrayLiteralExpression(first) ? first.elements.map(textOf) : [first ? textOf(first) : ''];
    return [expression.getText(), texts];
  });
}

/** Whether a class of the file implements the interface, and an earlier file imports or defines the same one. */
function isImplemented(file: string, name: string, earlier: readonly string[]): boolean {
  const { syntax, imports } = sourceOf(file);
  const definedIn = imports.get(name);
  const clauses = nodesOf(syntax, ts.isHeritageClause).filter(({ token }) => token === ts.SyntaxKind.ImplementsKeyword);
  const isListed = clauses.some(({ types }) => types.some(({ expression }) => expression.getText() === name));
  const isUser = (other: string) => other === definedIn || sourceOf(other).imports.get(name) === definedIn;
  return isListed && definedIn !== undefined && earlier.some(isUser);
}

type Check = (file: string, name: string, earlier: readonly string[]) => boolean;

/** How a step may be reached other than by an import, and what of both sides proves it. */
const LINKS: Readonly<Record<string, Check>> = {
  route: (file, name) => routesOf(file).includes(name),
  RPC: (file, name, earlier) =>
    isCalled(file, 'RpcHandler', name) && earlier.some((other) => isCalled(other, 'call', name)),
  'direct message': (file, name, earlier) =>
    isCalled(file, 'directMessageHandler', name) && earlier.some((other) => isCalled(other, 'send', name)),
  broker: (file, name, earlier) => [earlier.at(-1) ?? '', file].every((side) => callsMethod(side, name)),
  implements: isImplemented,
};

function callsMethod(file: string, method: string): boolean {
  return sourceOf(file).calls.some(({ name }) => name === method);
}

/** The steps that the earlier ones do not lead to, as the page names them. */
function brokenSteps(steps: readonly Step[]): string[] {
  const files = steps.map(({ file }) => file);
  return steps.flatMap(({ file, link }, index) => {
    const by = link === undefined ? 'import' : `${link.kind} ${link.name}`;
    return isReached({ file, link }, files.slice(0, index)) ? [] : [`${index + 1}. ${file} by ${by}`];
  });
}

function isReached({ file, link }: Step, earlier: readonly string[]): boolean {
  if (!exists(file)) return false;
  const readable = earlier.filter(exists);
  if (link !== undefined) return LINKS[link.kind]?.(file, link.name, readable) ?? false;
  return earlier.length === 0 || readable.some((other) => [...sourceOf(other).imports.values()].includes(file));
}

function exists(file: string): boolean {
  return existsSync(join(ROOT, file));
}

/** A file that no step imports, and that imports none. */
const UNRELATED = 'apps/cli/src/main.ts';

describe.each(WALKS)('$title', ({ title, limit }) => {
  const steps = stepsOf(title);
  const files = steps.map(({ file }) => file);

  it('has few files, each once', () => {
    expect(files).toEqual([...new Set(files)]);
    expect(files.length).toBeGreaterThan(limit / 2);
    expect(files.length).toBeLessThanOrEqual(limit);
  });

  it('names files that exist, in its text too', () => {
    const named = [...section(title).matchAll(/\]\(\.\.\/([^)#]+)\)/g)].map(([, file = '']) => file);
    expect(named.filter((file) => !exists(file))).toEqual([]);
  });

  it('is a chain in the code', () => {
    expect(brokenSteps(steps)).toEqual([]);
  });

  it('is no chain with another file in a place, or with a name that no file has', () => {
    const others = (file: string) => [UNRELATED, file.replace(/\.ts$/, '-renamed.ts')];
    const changed = steps
      .slice(1)
      .flatMap((step, index) => others(step.file).map((file) => ({ index: index + 1, file })));
    const accepted = changed.filter(({ index, file }) => {
      const list = steps.with(index, { ...steps[index], file });
      return !brokenSteps(list).some((broken) => broken.startsWith(`${index + 1}. ${file} `));
    });
    expect(accepted).toEqual([]);
  });

  it('is no chain without the earlier files', () => {
    const dependent = steps.slice(1).filter(({ link }) => link?.kind !== 'route');
    expect(dependent.filter((step) => brokenSteps([{ file: UNRELATED }, step]).length === 0)).toEqual([]);
  });
});

describe('a link', () => {
  const steps = WALKS.flatMap(({ title }) => stepsOf(title));

  it.each([
    ['route', 'PATCH /1.1/users'],
    ['RPC', 'accountsRpc.deleteApplication'],
    ['direct message', 'connectorMessages.evict'],
    ['broker', 'reserve'],
    ['implements', 'Transport'],
    ['unknown', 'rpcQueue'],
  ])('of the kind %s does not hold by the name %s', (kind, name) => {
    const changed = steps.flatMap((step, index) =>
      step.link?.kind === kind || kind === 'unknown'
        ? [{ index, list: steps.with(index, { ...step, link: { kind, name } }) }]
        : [],
    );
    expect(changed.length).toBeGreaterThan(0);
    for (const { index, list } of changed)
      expect(brokenSteps(list)).toContainEqual(expect.stringMatching(`^${index + 1}\\.`));
  });
});
