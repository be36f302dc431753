import { createContext, type ReactNode, use, useContext, useSyncExternalStore } from 'react';
import { knownOperator } from '../api/queries';
import { knownZone } from '../parts/moments.rules';
import type { actions } from './actions.en';
import type { en } from './en';

/** All texts of the page in one language. A text that is missing in a language does not compile. */
export type Texts = typeof en;
export type Language = 'en' | 'zh';

const LOADERS: Readonly<Record<Language, () => Promise<Texts>>> = {
  en: async () => (await import('./en')).en,
  zh: async () => (await import('./zh')).zh,
};
export const lookKey = (name: string): string => `gatepost-${name}`;

export interface ChosenLanguage {
  readonly language: Language;
  readonly texts: Texts;
  readonly choose: (language: Language) => void;
}

export const TextsContext = createContext<ChosenLanguage | undefined>(undefined);

export async function loadTexts(language: Language): Promise<Texts> {
  return LOADERS[language]();
}

/** The language that was chosen on this computer, else that of the operator, else that of the browser. */
export function preferredLanguage(): Language {
  const stored = localStorage.getItem(lookKey('language')) ?? knownOperator()?.language;
  if (stored === 'en' || stored === 'zh') return stored;
  return navigator.languages.find((each) => /^(?:en|zh)\b/i.test(each))?.startsWith('zh') === true ? 'zh' : 'en';
}

export function useTexts(): Texts {
  return useLanguage().texts;
}

export function useLanguage(): ChosenLanguage {
  const context = useContext(TextsContext);
  if (context === undefined) throw new Error('texts are loaded before the page is shown');
  return context;
}

type Actions = Partial<typeof actions>;
const ACTION_LOADERS: Readonly<Record<Language, () => Promise<Actions>>> = {
  en: async () => (await import('./actions.en')).actions,
  zh: async () => (await import('./actions.zh')).actions,
};
const loadedActions: Partial<Record<Language, Promise<Actions>>> = {};

/** The texts of the acts in the audit log; none where they cannot be loaded. The component waits for them within a `Suspense`. */
export function useActions(): Actions {
  const { language } = useLanguage();
  return use((loadedActions[language] ??= ACTION_LOADERS[language]().catch(() => ({}))));
}

/** The tag for `Intl` and for the attribute `lang`. */
export function tagOf(language: Language): string {
  return language === 'zh' ? 'zh-CN' : 'en-GB';
}

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
let timer: ReturnType<typeof setInterval> | undefined;
const listeners = new Set<() => void>();

/** The time has moved on while no page observed it. */
function startClock(): ReturnType<typeof setInterval> {
  now = Date.now();
  return setInterval(() => {
    now = Date.now();
    for (const listener of listeners) listener();
  }, TICK_MS);
}

/** One timer serves all times of a page. */
function subscribe(onTick: () => void): () => void {
  listeners.add(onTick);
  timer ??= startClock();
  return () => {
    listeners.delete(onTick);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** The time in milliseconds, which moves on every 15 seconds. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => now);
}

interface Formats {
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

/** Numbers and times in the operator's language and zone. A list has hundreds of times: none of them observes the session. */
export function useFormats(): Formats {
  const { language } = useLanguage();
  return formatsOf(tagOf(language), knownOperator()?.timeZone ?? undefined);
}

/** By language and zone. */
const known = new Map<string, Formats>();

function formatsOf(tag: string, timeZone: string | undefined): Formats {
  const key = `${tag} ${timeZone ?? ''}`;
  const formats = known.get(key) ?? newFormats(tag, knownZone(timeZone));
  known.set(key, formats);
  return formats;
}

/** Browsers take long to make a formatter of `Intl`: each is made when it is used first. */
function onFirstUse<Formatter>(make: () => Formatter): () => Formatter {
  let made: Formatter | undefined;
  return () => (made ??= make());
}

function newFormats(tag: string, timeZone: string | undefined): Formats {
  const zone = timeZone === undefined ? {} : { timeZone };
  const numbers = (options: Intl.NumberFormatOptions = {}) => {
    const formatter = onFirstUse(() => new Intl.NumberFormat(tag, options));
    return (value: number) => formatter().format(value);
  };
  const times = (options: Intl.DateTimeFormatOptions) => {
    const formatter = onFirstUse(() => new Intl.DateTimeFormat(tag, { ...options, ...zone }));
    return (iso: string) => formatter().format(new Date(iso));
  };
  const megabytes = numbers({ style: 'unit', unit: 'megabyte', maximumFractionDigits: 1 });
  const distances = onFirstUse(() => new Intl.RelativeTimeFormat(tag, { numeric: 'auto' }));
  return {
    number: numbers(),
    percent: numbers({ style: 'percent', maximumFractionDigits: 0 }),
    bytes: (bytes) => megabytes(bytes / MEGABYTE),
    time: times({ dateStyle: 'medium', timeStyle: 'medium' }),
    clock: times({ hour: '2-digit', minute: '2-digit', second: '2-digit' }),
    relative: (iso, from) => {
      const distance = Date.parse(iso) - from;
      const [unit, size] = UNITS.find(([, each]) => Math.abs(distance) >= each) ?? ['second', SECOND];
      return distances().format(Math.round(distance / size), unit);
    },
  };
}

/** A time as a distance from now, with the time itself in its title, or beside it on the page of one object. */
export function When({ at, isFull = false }: { readonly at: string | null; readonly isFull?: boolean }): ReactNode {
  const formats = useFormats();
  const now = useNow();
  if (at === null) return '–';
  const time = Date.parse(at);
  // The clock of the page is behind by a tick at most: what has just happened is not in the future.
  const from = time > now && time - now < TICK_MS ? time : now;
  return (
    <time dateTime={at} title={`${formats.time(at)} (${at})`}>
      {formats.relative(at, from)}
      {isFull && ` (${formats.time(at)})`}
    </time>
  );
}
