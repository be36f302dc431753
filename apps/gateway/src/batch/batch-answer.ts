import type { Response } from 'light-my-request';
import { type AppError, appError } from '#errors';
import { MAX_MESSAGE_BYTES } from '#messaging';
import { errorBody } from '../http/error.filter.js';

/** The answer of a batch, put together from the texts of its answers: they are JSON, and need not be parsed. */
export class BatchAnswer {
  readonly #entries: string[] = [];
  #bytes = 0;

  /** Adds the answer to a request with the given method. */
  add(method: string, response: Response): void {
    if (response.statusCode >= 400) this.#entries.push(`{"error":${response.payload}}`);
    else this.#addSuccess(successText(method, response));
  }

  addError(error: AppError): void {
    this.#entries.push(`{"error":${JSON.stringify(errorBody(error))}}`);
  }

  toString(): string {
    return `[${this.#entries.join(',')}]`;
  }

  #addSuccess(text: string): void {
    const bytes = Buffer.byteLength(text);
    // A batch may answer as much as any other request.
    if (this.#bytes + bytes > MAX_MESSAGE_BYTES) {
      this.addError(appError('OBJECT_TOO_LARGE', { message: 'The answers of the batch are too large together.' }));
      return;
    }
    this.#bytes += bytes;
    this.#entries.push(`{"success":${text}}`);
  }
}

/** SDKs take `null` for an object that is not there; asked for alone, it is an empty one. */
function successText(method: string, { headers, payload }: Response): string {
  if (!String(headers['content-type']).startsWith('application/json')) return JSON.stringify(payload);
  return method === 'GET' && payload === '{}' ? 'null' : payload;
}
