/** In which language a mail is written where there is a template in none of those that are wanted. */
const LAST_LANGUAGE = 'en';

/** A language tag in its usual spelling: `zh-cn` and `ZH-CN` are `zh-CN`. */
export function canonicalLanguage(tag: string): string {
  const [language = '', ...rest] = tag.toLowerCase().split('-');
  return [language, ...rest.map(canonicalSubtag)].join('-');
}

/**
 * The languages to look for, the best one first: of each that is wanted also the more general ones (`zh-Hant-TW`,
 * `zh-Hant`, `zh`) before the next, and at last the one that is always there.
 */
export function languagesToTry(wanted: readonly string[]): string[] {
  const tags = wanted.flatMap((tag) => withGeneralOnes(canonicalLanguage(tag)));
  return [...new Set([...tags, LAST_LANGUAGE])];
}

/** Whether they are the same but for script and country. */
export function isSameLanguage(one: string, other: string): boolean {
  return one.split('-', 1).join() === other.split('-', 1).join();
}

/** A script has four letters, a country two. */
function canonicalSubtag(part: string): string {
  if (part.length === 4) return part.charAt(0).toUpperCase() + part.slice(1);
  return part.length === 2 ? part.toUpperCase() : part;
}

function withGeneralOnes(tag: string): string[] {
  const parts = tag.split('-');
  return parts.map((_, index) => parts.slice(0, parts.length - index).join('-'));
}
