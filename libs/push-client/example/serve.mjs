// Serves this page and the built client.
import { createReadStream } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import { dirname, extname, join, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const PAGE_FOLDER = dirname(fileURLToPath(import.meta.url));
const TYPES = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

const HELP = `Usage: node serve.mjs [--port=5173] [--client=../dist]

Serves the example and the built client on this computer.
`;

const values = readOptions();
if (values.help) {
  process.stdout.write(HELP);
  process.exit(0);
}

const server = createServer((request, response) => {
  void answer(request.url ?? '/', response);
});
server.once('error', ({ code, message }) => {
  const isTaken = code === 'EADDRINUSE';
  fail(isTaken ? `Port ${values.port} is already in use. Name another one: --port=5174` : message);
});
server.listen(Number(values.port), () => {
  process.stdout.write(`http://localhost:${server.address().port}/\n`);
});

function readOptions() {
  try {
    return parseArgs({
      options: {
        help: { type: 'boolean', default: false },
        port: { type: 'string', default: '5173' },
        client: { type: 'string', default: join(PAGE_FOLDER, '..', 'dist') },
      },
    }).values;
  } catch (error) {
    return fail(`${error.message}\n\n${HELP}`);
  }
}

function fail(message) {
  process.stderr.write(`${message.trimEnd()}\n`);
  process.exit(1);
}

async function answer(url, response) {
  const file = await fileFor(url);
  if (file === undefined) {
    response.writeHead(404).end();
    return;
  }
  response.writeHead(200, { 'content-type': TYPES[extname(file)], 'cache-control': 'no-cache' });
  createReadStream(file).pipe(response);
}

/** @returns undefined for what is not there, or not ours to show */
async function fileFor(url) {
  try {
    const path = decodeURIComponent(new URL(url, 'http://localhost').pathname);
    const [folder, name] = path.startsWith('/dist/') ? [values.client, path.slice(6)] : [PAGE_FOLDER, path.slice(1)];
    const root = await realpath(resolve(folder));
    const file = await realpath(join(root, name || 'index.html'));
    const isOurs = file.startsWith(root + sep) && extname(file) in TYPES && (await stat(file)).isFile();
    return isOurs ? file : undefined;
  } catch {
    return undefined;
  }
}
