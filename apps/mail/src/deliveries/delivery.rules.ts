const MAX_ERROR_LENGTH = 500;
/** After the first failure, the second, and so on; the longest one after all that follow. */
const RETRY_DELAYS_SECONDS = [5, 30, 120, 300] as const;
const LONGEST_DELAY_SECONDS = 900;
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;

/** What a delivery's content is sealed for. */
export function contentContext(id: string): string {
  return `delivery ${id}`;
}

/** @param attempts that failed before */
export function retryDelaySeconds(attempts: number): number {
  return RETRY_DELAYS_SECONDS[attempts] ?? LONGEST_DELAY_SECONDS;
}

/** How long a channel pauses whose server is out of reach. @param lastMs the pause before, 0 where it was there */
export function pauseMs(lastMs: number): number {
  return lastMs === 0 ? FIRST_PAUSE_MS : Math.min(lastMs * 2, LONGEST_PAUSE_MS);
}

/** An error's text as it is kept: in one line, without tokens that a server may have repeated, and storable. */
export function keptError(message: string): string {
  return message
    .replaceAll(/([?&]token=)[\w=.-]*/gi, '$1…')
    .replaceAll(/[\p{Cc}\p{Cs}\s]+/gu, ' ')
    .trim()
    .slice(0, MAX_ERROR_LENGTH)
    .toWellFormed();
}

/** By application, in the order of their ids: everybody who locks several applications' rows does it in this order. */
export function byApplication<Row extends { readonly appId: string }>(rows: readonly Row[]): [string, Row[]][] {
  const groups = new Map<string, Row[]>();
  for (const row of rows) groups.set(row.appId, [...(groups.get(row.appId) ?? []), row]);
  return [...groups].sort(([one], [other]) => (one < other ? -1 : 1));
}
