import { ENGLISH } from './page-texts.en.js';
import { CHINESE } from './page-texts.zh.js';
import type { PageTexts } from './page-texts.js';

const BY_LANGUAGE: ReadonlyMap<string, PageTexts> = new Map([
  ['en', ENGLISH],
  ['zh', CHINESE],
]);

/** The texts in the best of the languages that somebody reads, else in English. @param languages tags, the best one first */
export function textsIn(languages: readonly string[]): PageTexts {
  const known = languages.map((tag) => BY_LANGUAGE.get(tag.split('-', 1)[0]?.toLowerCase() ?? ''));
  return known.find((texts) => texts !== undefined) ?? ENGLISH;
}
