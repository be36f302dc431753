const DAY_MS = 86_400_000;
const [FIRST, LAST] = [Date.parse('0001-01-01'), Date.parse('9999-12-31T23:59:59.999Z')] as const;

/** The server knows times of the years 1 to 9999. The text of a later year is no time. */
const within = (ms: number) => Math.max(FIRST, ms <= LAST ? ms : LAST);

export function knownZone(timeZone: string | null | undefined): string | undefined {
  if (!timeZone) return undefined;
  try {
    Intl.DateTimeFormat('en', { timeZone });
    return timeZone;
  } catch {
    return undefined;
  }
}

/** The moment of a time such as `2026-03-01T09:00`, or the first one of a day, in a zone; undefined: the zone of the browser. */
export function momentOf(local: string, timeZone: string | undefined): string {
  const zone = timeZone === undefined ? {} : { timeZone };
  const names = new Intl.DateTimeFormat('en', { ...zone, timeZoneName: 'longOffset' });
  const offsetAt = (ms: number) => {
    const [offset = 'Z'] = /[+-]\d\d:\d\d/.exec(names.format(ms)) ?? [];
    return -Date.parse(`1970-01-01T00:00:00${offset}`);
  };
  const wall = within(Date.parse(local.includes('T') ? `${local}Z` : local));
  const starts = [wall - DAY_MS, wall + DAY_MS].map((ms) => wall - offsetAt(ms));
  const first = Math.min(...starts);
  // Where the clock skips or repeats the time, only one of the two is not before it.
  return new Date(within(first + offsetAt(first) >= wall ? first : Math.max(...starts))).toISOString();
}

/** Whether a time is over, as `momentOf`; no time is not. */
export function isPast(local: string, timeZone: string | undefined, now: number): boolean {
  return local !== '' && Date.parse(momentOf(local, timeZone)) <= now;
}

/** The time of a moment in a zone, as `momentOf` takes it; empty for a text that is no moment. */
export function localOf(moment: string, timeZone: string | undefined): string {
  const ms = Date.parse(moment);
  if (Number.isNaN(ms)) return '';
  const zone = timeZone === undefined ? {} : { timeZone };
  // Swedish writes dates and times as ISO 8601 does.
  return new Intl.DateTimeFormat('sv', { ...zone, dateStyle: 'short', timeStyle: 'medium' })
    .format(ms)
    .replace(' ', 'T');
}

/** The first moment after a day, as `momentOf`. */
function endOfDay(day: string, timeZone: string | undefined): string {
  return momentOf(new Date(within(Date.parse(day) + DAY_MS)).toISOString().slice(0, 10), timeZone);
}

/** Both days of a filter as moments; an absent day has none. */
export function momentsOf(
  { since, until }: { readonly since?: string | undefined; readonly until?: string | undefined },
  timeZone: string | undefined,
): { readonly from?: string; readonly to?: string } {
  return {
    ...(since === undefined ? {} : { from: momentOf(since, timeZone) }),
    ...(until === undefined ? {} : { to: endOfDay(until, timeZone) }),
  };
}
