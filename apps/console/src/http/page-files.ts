import { randomBytes } from 'node:crypto';
import { createReadStream, existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { packageVersion } from '#bootstrap';
import { CALLBACK_PATH } from '../operators/issuer.js';

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.ico': 'image/x-icon',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.md': 'text/markdown; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
};
const ENCODINGS = [
  ['br', '.br'],
  ['gzip', '.gz'],
] as const;
/** Vite names a file by a hash of its content: `index-DiwrgTda.js`. */
const HASHED = /-[\w-]{8}\.\w+$/;
const NONCE_PLACEHOLDER = /__CSP_NONCE__/g;

/** Serves the same HTML for each path of the page, and files by their exact names. */
export function addPageFiles(app: NestFastifyApplication, folder: string): void {
  const fastify = app.getHttpAdapter().getInstance();
  const assets = join(folder, 'assets');
  const names = new Set(existsSync(assets) ? readdirSync(assets) : []);
  const index = join(folder, 'index.html');
  const html = existsSync(index) ? readFileSync(index, 'utf8') : undefined;
  fastify.get('/assets/:name', (request, reply) => {
    const { name } = request.params as { name: string };
    return names.has(name)
      ? sendFile(request, reply, { folder: assets, name, names })
      : reply.code(404).send('There is no such file.');
  });
  // The browser comes from the issuer: the page sends the next request, as the console's own.
  fastify.get(CALLBACK_PATH, (_, reply) => sendPage(reply, html));
  fastify.get('/*', (_, reply) => sendPage(reply, html));
}

function sendFile(
  { headers }: FastifyRequest,
  reply: FastifyReply,
  { folder, name, names }: { folder: string; name: string; names: ReadonlySet<string> },
): FastifyReply {
  const accepted = headers['accept-encoding'] ?? '';
  const variant = ENCODINGS.find(([encoding, ending]) => accepted.includes(encoding) && names.has(`${name}${ending}`));
  if (variant !== undefined) void reply.header('content-encoding', variant[0]);
  return reply
    .header('content-type', MEDIA_TYPES[extname(name)] ?? 'application/octet-stream')
    .header('cache-control', HASHED.test(name) ? 'public, max-age=31536000, immutable' : 'no-cache')
    .header('vary', 'accept-encoding')
    .send(createReadStream(join(folder, `${name}${variant?.[1] ?? ''}`)));
}

/** The nonce is new for each reply: only the styles of this page carry it. */
function sendPage(reply: FastifyReply, html: string | undefined): FastifyReply {
  const nonce = randomBytes(16).toString('base64url');
  void reply.headers({
    'cache-control': 'no-store',
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': policyFor(nonce),
  });
  if (html === undefined) return reply.code(503).send('The page of the console is not built. Run: npm run build');
  return reply.send(html.replace(NONCE_PLACEHOLDER, nonce));
}

function policyFor(nonce: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "connect-src 'self'",
    "frame-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}

export const SAFE_HEADERS: Readonly<Record<string, string>> = {
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy':
    'accelerometer=(), camera=(), geolocation=(), gyroscope=(), magnetometer=(), microphone=(), payment=(), usb=(), publickey-credentials-create=(self), publickey-credentials-get=(self)',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'x-gatepost-version': packageVersion(),
  'x-robots-tag': 'noindex',
};
