import { useSyncExternalStore } from 'react';
import { useSession } from '../api/queries';
import { tagOf, useLanguage } from './texts';

const TICK_MS = 15_000;
const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const MEGABYTE = 1_000_000;
const UNITS: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ['day', DAY],
  ['hour', HOUR],
  ['minute', MINUTE],
  ['second', SECOND],
];

let now = Date.now();

function subscribe(onTick: () => void): () => void {
  const timer = setInterval(() => {
    now = Date.now();
    onTick();
  }, TICK_MS);
  return () => {
    clearInterval(timer);
  };
}

/** The time in milliseconds, which moves on every 15 seconds. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => now);
}

export interface Formats {
  readonly number: (value: number) => string;
  readonly percent: (share: number) => string;
  /** A size in MB. */
  readonly bytes: (bytes: number) => string;
  /** Date and time in the operator's zone. */
  readonly time: (iso: string) => string;
  readonly clock: (iso: string) => string;
  /** A distance from `from`, in milliseconds, such as "3 minutes ago". */
  readonly relative: (iso: string, from: number) => string;
}

/** Numbers and times in the operator's language and zone. */
export function useFormats(): Formats {
  const { language } = useLanguage();
  const { operator } = useSession();
  return formatsOf(tagOf(language), operator?.timeZone ?? undefined);
}

function formatsOf(tag: string, timeZone: string | undefined): Formats {
  const zone = timeZone === undefined ? {} : { timeZone };
  const format = (options: Intl.DateTimeFormatOptions) => (iso: string) =>
    new Intl.DateTimeFormat(tag, { ...options, ...zone }).format(new Date(iso));
  return {
    number: (value) => new Intl.NumberFormat(tag).format(value),
    percent: (share) => new Intl.NumberFormat(tag, { style: 'percent', maximumFractionDigits: 0 }).format(share),
    bytes: (bytes) =>
      new Intl.NumberFormat(tag, { style: 'unit', unit: 'megabyte', maximumFractionDigits: 1 }).format(
        bytes / MEGABYTE,
      ),
    time: format({ dateStyle: 'medium', timeStyle: 'medium' }),
    clock: format({ hour: '2-digit', minute: '2-digit', second: '2-digit' }),
    relative: (iso, from) => relative(tag, Date.parse(iso) - from),
  };
}

function relative(tag: string, distance: number): string {
  const format = new Intl.RelativeTimeFormat(tag, { numeric: 'auto' });
  const [unit, size] = UNITS.find(([, each]) => Math.abs(distance) >= each) ?? ['second', SECOND];
  return format.format(Math.round(distance / size), unit);
}
