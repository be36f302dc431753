// Measures how the product's files are cut, and compares the figures with the limits below. Usage: npm run check:house [-- --list]
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import ts from 'typescript';

const ROOT = path.join(import.meta.dirname, '..');
/** Tests, and the page of the console, whose measure is bytes (its vite.config.ts). */
const OTHERS = /(?:[.-]spec\.ts$|\/test\/|^libs\/testing\/|^apps\/[^/]+\/web\/|\.d\.ts$)/;
const SMALL_LINES = 40;

/**
 * Each figure may not exceed its limit. A limit goes down with the figure; `goal` is where it ends.
 * @type {Record<string, { limit: number, goal: number, says: string }>}
 */
const LIMITS = {
  files: { limit: 420, goal: 420, says: 'product files' },
  libraries: { limit: 12, goal: 12, says: 'libraries, not counting testing' },
  foldersInCircles: { limit: 0, goal: 0, says: 'folders of an app that import each other in a circle' },
  smallSingleImporter: {
    limit: 15,
    goal: 15,
    says: `files of at most ${SMALL_LINES} lines whose one importer is in the same folder`,
  },
  singleUserInjectables: { limit: 30, goal: 30, says: 'injectable classes with a single user' },
  replacedWords: { limit: 2, goal: 0, says: 'identifiers with a word that a term of the field has replaced' },
  commentPercent: { limit: 5, goal: 5, says: 'percent of the lines that are comments' },
};
/** Words of identifiers, each with the term to use instead. */
const REPLACED_WORDS = new Map([
  [/^assertRight/, 'assertCorrect, verify'],
  [/^doors?$|Door(?:s|$|[A-Z])/, 'login method'],
  [/^#?judge|Judge(?:d|ment|s|$|[A-Z])/, 'decide, decisions'],
  [/^#?pretend/, 'sendDecoy'],
  [/^#?givesWay/, 'shouldYield'],
  [/^#?unlessAway/, 'nullIfUnavailable'],
  [/^#?giveBack/, 'release'],
  [/^#?noteIn[A-Z]/, 'recordIn…'],
  [/^#?lookAt[A-Z]/, 'inspect, peek'],
]);
const COMMENT_LINE = /^\s*(?:\/\/|\/\*|\*(?:\s|\/|$))/;
/** The middle of the files' lengths, in lines. Each file that another takes in raises it. */
const MEDIAN = { from: 80, goal: '80 to 140', to: 140 };

const { list } = parseArgs({ options: { list: { type: 'boolean', default: false } } }).values;
const files = readFiles();
const figures = measure(files);
report(figures);

function readFiles() {
  const names = ['apps', 'libs'].flatMap((top) =>
    readdirSync(path.join(ROOT, top), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
      .map((entry) => path.relative(ROOT, path.join(entry.parentPath, entry.name))),
  );
  const product = names.filter((name) => !OTHERS.test(name) && !name.includes('node_modules'));
  return new Map(product.map((name) => [name, readProductFile(name)]));
}

function readProductFile(name) {
  const text = readFileSync(path.join(ROOT, name), 'utf8');
  const { importedFiles } = ts.preProcessFile(text, true, true);
  const imports = importedFiles.map(({ fileName }) => resolve(name, fileName)).filter(Boolean);
  return { name, text, lines: text.split('\n').length - 1, imports: new Set(imports) };
}

/** @returns the product file that an import names; undefined for a package */
function resolve(from, specifier) {
  if (specifier.startsWith('#')) return `libs/${specifier.slice(1)}/src/index.ts`;
  if (!specifier.startsWith('.')) return undefined;
  return path.join(path.dirname(from), specifier).replace(/\.js$/, '.ts');
}

function measure(byName) {
  const all = [...byName.values()];
  const importers = importersOf(all);
  const lines = all.map((file) => file.lines).sort((a, b) => a - b);
  return {
    files: { figure: all.length, found: [] },
    median: { figure: lines[Math.floor(lines.length / 2)], found: [] },
    libraries: counted(unique(all.map(({ name }) => /^libs\/([^/]+)\//.exec(name)?.[1]))),
    foldersInCircles: counted(foldersInCircles(all)),
    smallSingleImporter: counted(smallSingleImporter(all, importers)),
    singleUserInjectables: counted(singleUserInjectables(all)),
    replacedWords: counted(all.flatMap(replacedWords)),
    commentPercent: { figure: commentPercent(all), found: [] },
  };
}

function counted(found) {
  return { figure: found.length, found };
}

function unique(values) {
  return [...new Set(values.filter((value) => value !== undefined))];
}

function importersOf(all) {
  const importers = new Map(all.map(({ name }) => [name, []]));
  for (const { name, imports } of all) for (const imported of imports) importers.get(imported)?.push(name);
  return importers;
}

function smallSingleImporter(all, importers) {
  return all
    .filter(({ name, lines }) => {
      const [only, ...others] = importers.get(name);
      return (
        lines <= SMALL_LINES && others.length === 0 && only !== undefined && path.dirname(only) === path.dirname(name)
      );
    })
    .map(({ name, lines }) => `${name} (${lines} lines)`);
}

/** Folders directly in `apps/<app>/src` that reach themselves over other folders of the same app. */
function foldersInCircles(all) {
  const edges = new Map();
  for (const { name, imports } of all) {
    const from = folderOf(name);
    for (const imported of from === undefined ? [] : imports) {
      const to = folderOf(imported);
      if (to !== undefined && to !== from && appOf(to) === appOf(from))
        edges.set(from, (edges.get(from) ?? new Set()).add(to));
    }
  }
  return [...edges.keys()].filter((folder) => reaches(folder, folder, edges));
}

function folderOf(name) {
  return /^(apps\/[^/]+\/src\/[^/]+)\//.exec(name)?.[1];
}

function appOf(folder) {
  return folder.split('/')[1];
}

function reaches(from, wanted, edges, seen = new Set()) {
  for (const next of edges.get(from) ?? []) {
    if (next === wanted) return true;
    if (seen.has(next)) continue;
    seen.add(next);
    if (reaches(next, wanted, edges, seen)) return true;
  }
  return false;
}

/** Classes that Nest makes and one other class asks for; modules, which only list them, are no users. */
function singleUserInjectables(all) {
  const classes = all.flatMap(({ name, text }) =>
    [...text.matchAll(/@Injectable\([^)]*\)\s*export (?:abstract )?class (\w+)/g)].map(([, className]) => ({
      name,
      className,
    })),
  );
  const users = all.filter(({ name }) => !/\.module\.ts$|\/index\.ts$/.test(name));
  return classes
    .filter(({ name, className }) => {
      const word = new RegExp(`\\b${className}\\b`);
      return users.filter((user) => user.name !== name && word.test(user.text)).length === 1;
    })
    .map(({ name, className }) => `${className} (${name})`);
}

/** Identifiers that the file declares or uses; texts, comments and packages are free. */
function replacedWords({ name, text }) {
  const source = ts.createSourceFile(name, text, ts.ScriptTarget.Latest);
  const identifiers = new Set();
  const visit = (node) => {
    if (ts.isIdentifier(node) || ts.isPrivateIdentifier(node)) identifiers.add(node.text);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return [...identifiers].flatMap((identifier) => {
    const [, term] = [...REPLACED_WORDS].find(([word]) => word.test(identifier)) ?? [];
    return term === undefined ? [] : [`${identifier} (${name}): ${term}`];
  });
}

/** Rounded to two digits. */
function commentPercent(all) {
  const lines = all.flatMap(({ text }) => text.split('\n').slice(0, -1));
  return Math.round((lines.filter((line) => COMMENT_LINE.test(line)).length / lines.length) * 10_000) / 100;
}

function report({ median, ...counts }) {
  let isOver = median.figure < MEDIAN.from || median.figure > MEDIAN.to;
  console.log(
    `median of the files' lengths: ${median.figure} lines (goal: ${MEDIAN.goal}; limit: ${MEDIAN.from} to ${MEDIAN.to})`,
  );
  for (const [key, { limit, goal, says }] of Object.entries(LIMITS)) {
    const { figure, found } = counts[key];
    const verdict = figure > limit ? 'OVER THE LIMIT' : 'ok';
    console.log(`${says}: ${figure} (goal: ${goal}; limit: ${limit}) ${verdict}`);
    if (list || figure > limit) for (const line of found) console.log(`  ${line}`);
    isOver ||= figure > limit;
  }
  if (isOver) process.exitCode = 1;
}
