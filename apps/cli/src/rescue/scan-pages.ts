import { z } from 'zod';
import { type LeanCloudApi, RefusedError, RequestError } from './leancloud-api.js';

/** Falls back to a smaller page where LeanCloud fails to deliver one. 1,000 is the limit of the endpoint. */
const PAGE_SIZES = [1_000, 100, 10] as const;
const SERVER_ERRORS = 500;
const STEPS: Readonly<Record<string, number>> = { '{': 1, '[': 1, '}': -1, ']': -1 };

const page = z.object({
  results: z.array(z.looseObject({ objectId: z.string() })),
  cursor: z.string().nullish(),
});

interface Page {
  /** As LeanCloud wrote them: numbers over 2^53 stay exact. */
  readonly lines: readonly string[];
  readonly ids: readonly string[];
  readonly cursor: string | undefined;
}

/** Is ahead of the files. */
export interface Position {
  readonly since: string | null;
  lastId: string | null;
  isOrdered: boolean;
}

export function whereOf(since: string | null, lastId: string | null): object {
  return {
    ...(since === null ? {} : { updatedAt: { $gte: { __type: 'Date', iso: since } } }),
    ...(lastId === null ? {} : { objectId: { $gt: lastId } }),
  };
}

/** Pages from the position on, which the caller moves with each page. */
export async function* pagesOf(api: LeanCloudApi, name: string, position: Position): AsyncGenerator<Page> {
  let sizes: readonly number[] = PAGE_SIZES;
  let cursor: string | undefined;
  // A cursor is valid only for the condition that it began with.
  let behind = position.lastId;
  let failures = 0;
  for (;;) {
    const found = await pageOf(api, {
      name,
      where: whereOf(position.since, behind),
      cursor,
      limit: sizes[0] ?? 1,
    }).catch((error: unknown) => {
      failures += 1;
      // Without order the scan would begin anew: that is the next run's work.
      if (!(error instanceof RequestError) || error instanceof RefusedError || !position.isOrdered) throw error;
      const isCursorRefused = cursor !== undefined && error.status !== undefined && error.status < SERVER_ERRORS;
      if (!isCursorRefused) sizes = sizes.slice(1);
      if (sizes.length === 0 || failures > PAGE_SIZES.length) throw error;
      return undefined;
    });
    if (found !== undefined) yield found;
    if (found !== undefined && found.cursor === undefined) return;
    cursor = found?.cursor;
    if (found === undefined) behind = position.lastId;
    else failures = 0;
  }
}

interface PageRequest {
  readonly name: string;
  readonly where: object;
  readonly cursor: string | undefined;
  readonly limit: number;
}

/** `GET /1.1/scan/classes/<Class>` @throws RequestError */
async function pageOf(api: LeanCloudApi, { name, where, cursor, limit }: PageRequest): Promise<Page> {
  const query = {
    limit: String(limit),
    ...(Object.keys(where).length === 0 ? {} : { where: JSON.stringify(where) }),
    ...(cursor === undefined ? {} : { cursor }),
  };
  const text = await api.get(`scan/classes/${name}`, query);
  const { results, cursor: next } = parsed(page, text, `a page of ${name}`);
  return { lines: linesIn(text, results), ids: results.map(({ objectId }) => objectId), cursor: next ?? undefined };
}

/** @throws RequestError if the text does not match */
export function parsed<T>(schema: z.ZodType<T>, text: string, name: string): T {
  try {
    return schema.parse(JSON.parse(text));
  } catch {
    throw new RequestError(`LeanCloud's answer is not ${name}`);
  }
}

/**
 * The rows of a page as text: JSON.parse would round numbers over 2^53.
 * @param results the same rows parsed, used if the text has an unexpected form
 */
export function linesIn(text: string, results: readonly object[]): string[] {
  const start = /^\s*\{\s*"results"\s*:\s*\[/.exec(text)?.[0].length;
  const lines = start === undefined ? [] : elementsOf(text, start);
  return lines.length === results.length ? lines : results.map((row) => JSON.stringify(row));
}

/** @param start the index behind the `[` */
function elementsOf(text: string, start: number): string[] {
  const found: string[] = [];
  const token = /"(?:[^"\\]+|\\.)*"|[{}[\]]/gs;
  token.lastIndex = start;
  let [depth, begin] = [0, start];
  for (let match = token.exec(text); match !== null; match = token.exec(text)) {
    const [sign] = match;
    if (depth === 0 && sign === '{') begin = match.index;
    depth += STEPS[sign] ?? 0;
    if (depth < 0) break;
    // Valid JSON has line breaks between its tokens only.
    if (depth === 0 && sign === '}') found.push(text.slice(begin, token.lastIndex).replaceAll(/[\r\n]+/g, ' '));
  }
  return found;
}
