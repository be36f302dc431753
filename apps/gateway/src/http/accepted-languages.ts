import { LRUCache } from 'lru-cache';
import { languageTag, MAX_LANGUAGES } from '#contracts';

/** Browsers send about 50 characters. A longer header loses its last entries. */
const MAX_HEADER_LENGTH = 256;
/** Clients send few different values of the header. */
const MAX_ENTRIES = 1_000;
const QUALITY = /^q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/i;

const NONE: readonly string[] = [];
const known = new LRUCache<string, readonly string[]>({ max: MAX_ENTRIES });

interface Preference {
  readonly tag: string;
  readonly quality: number;
}

/** The languages of an Accept-Language header (RFC 9110, 12.5.4), the preferred one first. Malformed entries are ignored. */
export function acceptedLanguages(header: string | undefined): readonly string[] {
  if (header === undefined) return NONE;
  const text = shortened(header);
  const found = known.get(text) ?? parse(text);
  known.set(text, found);
  return found;
}

/** Cuts at a comma: half an entry would name another language. */
function shortened(header: string): string {
  if (header.length <= MAX_HEADER_LENGTH) return header;
  return header.slice(0, Math.max(0, header.lastIndexOf(',', MAX_HEADER_LENGTH)));
}

function parse(text: string): readonly string[] {
  const preferences = text
    .split(',')
    .flatMap(preferenceOf)
    .sort((a, b) => b.quality - a.quality);
  const byName = new Map(preferences.map(({ tag }) => [tag.toLowerCase(), tag]));
  return [...byName.values()].slice(0, MAX_LANGUAGES);
}

/** Ignores `*`, which is no language, and entries with the quality 0, which are not acceptable. */
function preferenceOf(part: string): Preference[] {
  const [tag = '', quality = 'q=1', ...rest] = part.split(';').map((each) => each.trim());
  const value = Number(QUALITY.exec(quality)?.[1] ?? 0);
  const isWanted = rest.length === 0 && value > 0 && languageTag.safeParse(tag).success;
  return isWanted ? [{ tag, quality: value }] : [];
}
