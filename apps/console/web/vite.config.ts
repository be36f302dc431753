import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin, type Rolldown } from 'vite';

const fromHere = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const OUT = fromHere('../../../dist/apps/console/web');

/** Upper limits in bytes after gzip. The build fails above them; docs/adr/0040-the-stack-of-the-console-page.md has the reasons. */
const BUDGET = {
  firstScript: 215 * 1024,
  firstStyle: 32 * 1024,
  /** A script that a further page loads. */
  furtherScript: 35 * 1024,
  texts: 12 * 1024,
  everything: 480 * 1024,
};
const SMALLEST_TO_COMPRESS = 1024;
/** The script of what several further pages need. */
const SHARED = 'shared';

type Bundle = Readonly<Record<string, Rolldown.OutputAsset | Rolldown.OutputChunk>>;

/** Weighs what the first page loads, every further script and the sum, and fails where one is too heavy. */
function byteBudget(): Plugin {
  return {
    name: 'byte-budget',
    writeBundle(_options, bundle) {
      const excesses = weigh(bundle);
      if (excesses.length > 0) this.error(`The page is too heavy:\n${excesses.join('\n')}`);
    },
  };
}

function weigh(bundle: Bundle): string[] {
  const sizes = new Map(Object.values(bundle).map((file) => [file.fileName, gzipSync(sourceOf(file)).length]));
  const sum = (names: Iterable<string>) => [...names].reduce((bytes, name) => bytes + (sizes.get(name) ?? 0), 0);
  const chunks = Object.values(bundle).filter((file) => file.type === 'chunk');
  const first = new Set(chunks.filter(({ isEntry }) => isEntry).flatMap((entry) => closureOf(entry, bundle)));
  const further = chunks.filter(({ fileName }) => !first.has(fileName));
  const figures: [what: string, bytes: number, limit: number][] = [
    ['first scripts', sum(first), BUDGET.firstScript],
    ['styles', sum([...sizes.keys()].filter((name) => name.endsWith('.css'))), BUDGET.firstStyle],
    ['everything', sum(sizes.keys()), BUDGET.everything],
    ...further.map(({ fileName, name }): [string, number, number] => [
      fileName,
      sum([fileName]),
      name === 'en' || name === 'zh' ? BUDGET.texts : BUDGET.furtherScript,
    ]),
  ];
  for (const [what, bytes, limit] of figures.slice(0, 3)) {
    console.log(`${what}: ${(bytes / 1024).toFixed(1)} of ${limit / 1024} kB after gzip`);
  }
  return figures
    .filter(([, bytes, limit]) => bytes > limit)
    .map(
      ([what, bytes, limit]) => `${what}: ${(bytes / 1024).toFixed(1)} kB after gzip; the limit is ${limit / 1024} kB`,
    );
}

function sourceOf(file: Rolldown.OutputAsset | Rolldown.OutputChunk): string | Uint8Array {
  return file.type === 'chunk' ? file.code : file.source;
}

/** The names of a chunk and of all chunks that it imports at once. */
function closureOf(chunk: Rolldown.OutputChunk, bundle: Bundle): string[] {
  const imported = chunk.imports.map((name) => bundle[name]).filter((file) => file?.type === 'chunk');
  return [chunk.fileName, ...imported.flatMap((each) => closureOf(each, bundle))];
}

const CONSOLE_API = '#console-api';
const CONSOLE_API_SHARED = fromHere('../src/api/shared.ts');
const CONSOLE_API_BUILT = fromHere('../../../dist/apps/console/src/api/index.js');

/**
 * Replaces `#console-api` by its data: the page needs the routes without their schemas, which would bring zod and 10 % more bytes. Types
 * come from the sources; a schema that the page imports fails the build. `npm run build` builds them before the page.
 */
function withoutSchemas(): Plugin {
  const id = `\0${CONSOLE_API}`;
  return {
    name: 'without-schemas',
    enforce: 'pre',
    resolveId: (source) => (source === CONSOLE_API ? id : undefined),
    async load(loaded) {
      if (loaded !== id) return undefined;
      const library = (await import(pathToFileURL(CONSOLE_API_BUILT).href)) as Record<string, unknown>;
      const data = Object.entries(library).filter(([, value]) => typeof value !== 'function' && !isSchema(value));
      return [
        ...data.map(([name, value]) => `export const ${name} = ${JSON.stringify(value, dropSchema)};`),
        `export * from '${CONSOLE_API_SHARED}';`,
      ].join('\n');
    },
  };
}

function isSchema(value: unknown): boolean {
  return typeof value === 'object' && value !== null && '_zod' in value;
}

function dropSchema(_key: string, value: unknown): unknown {
  return isSchema(value) ? undefined : value;
}

/** Names the script that several pages share in the HTML: it arrives with the first one. */
function sharedScriptAtOnce(): Plugin {
  return {
    name: 'shared-script-at-once',
    transformIndexHtml: {
      order: 'post',
      handler: (_html, { bundle = {} }) =>
        Object.values(bundle)
          .filter((file) => file.type === 'chunk' && file.name === SHARED)
          .map(({ fileName }) => ({
            tag: 'link',
            attrs: { rel: 'modulepreload', crossorigin: true, href: `/${fileName}` },
            injectTo: 'head',
          })),
    },
  };
}

/** Writes a Brotli and a gzip variant beside each text file, so that the server compresses nothing. */
function compressedVariants(): Plugin {
  return {
    name: 'compressed-variants',
    closeBundle() {
      const folder = join(OUT, 'assets');
      for (const name of readdirSync(folder).filter((each) => /\.(?:js|css|svg)$/.test(each))) {
        const content = readFileSync(join(folder, name));
        if (content.length < SMALLEST_TO_COMPRESS) continue;
        writeFileSync(join(folder, `${name}.gz`), gzipSync(content, { level: constants.Z_BEST_COMPRESSION }));
        writeFileSync(join(folder, `${name}.br`), brotliCompressSync(content));
      }
    },
  };
}

export default defineConfig({
  root: fromHere('.'),
  plugins: [withoutSchemas(), react(), byteBudget(), sharedScriptAtOnce(), compressedVariants()],
  build: {
    outDir: OUT,
    emptyOutDir: true,
    target: ['chrome111', 'firefox113', 'safari16.4'],
    // Packages' licences stand beside what is bundled of them.
    license: { fileName: 'licenses.md' },
    // Inlined assets would be data: URLs in styles, which the policy of the page forbids.
    assetsInlineLimit: 0,
    cssCodeSplit: false,
    // BUDGET is the limit.
    chunkSizeWarningLimit: 1_000,
    reportCompressedSize: false,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      output: {
        // A script a round trip: what every page needs, then what several pages share beside each page's own.
        codeSplitting: {
          groups: [
            { name: 'first', tags: ['$initial'], priority: 1 },
            { name: SHARED, minShareCount: 3 },
          ],
        },
      },
    },
  },
  // For the development of the page: the service answers what is below /api.
  server: { proxy: { '/api': 'http://localhost:8090' } },
});
