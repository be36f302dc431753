import { appError } from '#errors';
import type { JsonObject, JsonValue } from '#contracts';

/** Deeper documents are refused before anything walks them recursively. */
const MAX_NESTING = 64;
const FORBIDDEN_KEY = '__proto__';

/**
 * Parses a request body. Nothing, and `null`, count as an empty object: SDKs send both.
 * @throws AppError MALFORMED_JSON, INVALID_KEY_NAME
 */
export function parseJsonBody(text: string): JsonValue {
  return text.trim() === '' ? {} : (parseJson(text) ?? {});
}

/** Parses JSON of a client that everything behind can walk and pass on. @throws AppError MALFORMED_JSON, INVALID_KEY_NAME */
export function parseJson(text: string): JsonValue {
  const value = parse(text);
  assertHarmless(value);
  return value;
}

/** The body as an object; no body at all is an empty one. @throws AppError MALFORMED_JSON where it is no JSON object */
export function asJsonObject(body: unknown): JsonObject {
  const value = body ?? {};
  if (typeof value !== 'object' || Array.isArray(value)) throw appError('MALFORMED_JSON');
  return value as JsonObject;
}

function parse(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    throw appError('MALFORMED_JSON');
  }
}

/** Walks the document level by level, so that its depth cannot exhaust the stack. */
function assertHarmless(root: JsonValue): void {
  let level: JsonValue[] = [root];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > MAX_NESTING)
      throw appError('MALFORMED_JSON', { message: `Values may be nested ${MAX_NESTING} levels deep at most.` });
    level = level.flatMap(childrenOf);
  }
}

function childrenOf(value: JsonValue): JsonValue[] {
  if (typeof value !== 'object' || value === null) return [];
  if (!Array.isArray(value) && Object.hasOwn(value, FORBIDDEN_KEY)) throw appError('INVALID_KEY_NAME');
  return Object.values(value);
}
