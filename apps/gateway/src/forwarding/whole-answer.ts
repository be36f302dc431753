import type { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { appError } from '#errors';
import { MAX_MESSAGE_BYTES } from '#messaging';
import type { StreamedAnswer } from '#outbound';
import { OVERRIDE_PATH } from '../http/method-override.js';
import { originsOf } from '../http/sub-request.js';
import { headersForClient } from './forward-policy.js';

/** The answer to a request within a batch or a method override, which becomes part of another answer. */
export async function sendWhole(request: FastifyRequest, reply: FastifyReply, answer: StreamedAnswer): Promise<void> {
  const { 'content-length': _length, ...headers } = headersForClient(answer.headers);
  const bytes = await readWhole(answer.body);
  const isInBatch = originsOf(request).some(({ routeOptions }) => routeOptions.url !== OVERRIDE_PATH);
  if (isInBatch) assertFitsIntoBatch(answer.status, headers, bytes);
  const isEmptyJson = bytes.length === 0 && isJson(headers);
  void reply
    .code(answer.status)
    .headers(headers)
    .send(isEmptyJson ? '{}' : bytes);
}

/** @throws AppError OBJECT_TOO_LARGE, or FORWARD_FAILED where the answer stops in its middle */
async function readWhole(body: Readable): Promise<Buffer> {
  const bytes = await readUpTo(MAX_MESSAGE_BYTES, body).catch((error: unknown) => {
    throw appError('FORWARD_FAILED', { cause: new Error(String((error as { code?: unknown }).code)) });
  });
  if (bytes !== undefined) return bytes;
  throw appError('OBJECT_TOO_LARGE', {
    message: 'The answer of the server that the request was forwarded to is too large.',
  });
}

/** @returns undefined where the stream is longer */
async function readUpTo(maxBytes: number, body: Readable): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let left = maxBytes;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    left -= chunk.length;
    if (left < 0) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** The answer to a batch joins JSON texts without parsing them. @throws AppError FORWARD_FAILED where this one would break it */
function assertFitsIntoBatch(status: number, headers: Readonly<Record<string, string>>, bytes: Buffer): void {
  const isSuccess = status < 300;
  if (isSuccess && !isJson(headers) && headers['content-encoding'] === undefined) return;
  if (isSuccess && bytes.length === 0) return;
  if ((isSuccess || status >= 400) && isJson(headers) && isJsonText(bytes)) return;
  throw appError('FORWARD_FAILED', {
    message: `The server that the request was forwarded to answered ${status} without JSON.`,
  });
}

function isJson(headers: Readonly<Record<string, string>>): boolean {
  return headers['content-type']?.startsWith('application/json') === true;
}

function isJsonText(bytes: Buffer): boolean {
  try {
    JSON.parse(bytes.toString());
    return true;
  } catch {
    return false;
  }
}
