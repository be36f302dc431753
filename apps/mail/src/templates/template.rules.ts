/** The three parts of a mail: their sources in a template, their texts once it is rendered. */
export interface MailTemplate {
  readonly subject: string;
  readonly html: string;
  readonly text: string;
}

export type TemplatePart = keyof MailTemplate;

/** The variables of a template. The names are those of the service from which applications migrate. */
export interface MailVariables {
  readonly appname: string;
  readonly email: string;
  readonly username: string;
  readonly link: string;
}

export interface RenderedMail extends MailTemplate {
  readonly language: string;
}

/** Control characters, line and paragraph separators, and characters that change the direction of text. */
const INVISIBLE = /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]+/gu;

/** An attacker can sign up with the address of a victim: the name must be too short to carry a message. */
const MAX_NAME_LENGTH = 100;
/** Names that mail programs may turn into links. Names such as `ada.lovelace` and addresses stay unchanged, for copying. */
const LINKABLE = /[\s/:]|^www\./i;
const ZERO_WIDTH_SPACE = '\u200b';
const MAX_EMAIL_LENGTH = 320;
const MAX_LINK_LENGTH = 4_096;
const MAX_SUBJECT_LENGTH = 500;

/** Each on one line, with a limited length. @throws Error if the link is not an HTTP URL or is too long */
export function safeVariables({ appname, email, username, link }: MailVariables): MailVariables {
  return {
    appname: cut(oneLine(appname), MAX_NAME_LENGTH),
    email: cut(oneLine(email), MAX_EMAIL_LENGTH),
    username: unlinked(cut(oneLine(username), MAX_NAME_LENGTH)),
    link: pageLink(link),
  };
}

/** Makes a rendered subject safe for a header, for any template and variables: one line, which readers do not decode (RFC 2047). */
export function inSubject(rendered: string): string {
  return cut(oneLine(rendered).replaceAll('=?', `=${ZERO_WIDTH_SPACE}?`), MAX_SUBJECT_LENGTH);
}

function oneLine(text: string): string {
  return text.toWellFormed().replaceAll(INVISIBLE, ' ').trim();
}

/** A text of a client in a text message: on one line, short, and no link. */
export function plainName(name: string): string {
  return withoutLinks(cut(oneLine(name), MAX_NAME_LENGTH));
}

function unlinked(name: string): string {
  return LINKABLE.test(name) ? withoutLinks(name) : name;
}

function withoutLinks(text: string): string {
  return text.replaceAll(/[.:](?=\S)/g, `$&${ZERO_WIDTH_SPACE}`);
}

/** Cuts between characters, never inside a surrogate pair. */
function cut(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  const kept = text.slice(0, maxLength - 1).replace(/[\ud800-\udbff]$/, '');
  return `${kept}…`;
}

/** The normalized URL contains no quote that ends an attribute, no space and no bracket. */
function pageLink(link: string): string {
  const { href, protocol } = new URL(link);
  if (protocol !== 'https:' && protocol !== 'http:')
    throw new Error(`the link must use http or https, not ${protocol}`);
  if (href.length > MAX_LINK_LENGTH) throw new Error(`the link must not be longer than ${MAX_LINK_LENGTH} characters`);
  return href;
}

const LAST_LANGUAGE = 'en';

/** A language tag in its usual spelling: `zh-cn` and `ZH-CN` are `zh-CN`. */
export function canonicalLanguage(tag: string): string {
  const [language = '', ...rest] = tag.toLowerCase().split('-');
  return [language, ...rest.map(canonicalSubtag)].join('-');
}

/** The best first: each wanted language before its more general ones (`zh-Hant-TW`, `zh-Hant`, `zh-TW`, `zh`), the fallback last. */
export function languagesToTry(wanted: readonly string[]): string[] {
  const tags = wanted.flatMap((tag) => withGeneralOnes(canonicalLanguage(tag)));
  return [...new Set([...tags, LAST_LANGUAGE])];
}

export function isSameLanguage(one: string, other: string): boolean {
  return one.split('-', 1).join() === other.split('-', 1).join();
}

/** A script has four letters, a country has two. */
function canonicalSubtag(part: string): string {
  if (part.length === 4) return part.charAt(0).toUpperCase() + part.slice(1);
  return part.length === 2 ? part.toUpperCase() : part;
}

/** Readers name a country, a script, or both: browsers send `zh-TW`, iPhones `zh-Hant-TW`. */
function withGeneralOnes(tag: string): string[] {
  const parts = tag.split('-');
  const general = parts.map((_, index) => parts.slice(0, parts.length - index).join('-'));
  return general.toSpliced(-1, 0, ...equivalentsOf(tag));
}

const OF_COUNTRY = /^([a-z]{2,3})(?:-([A-Z][a-z]{3}))?-([A-Z]{2})$/;

/** `zh-Hant` for `zh-TW`, `zh-TW` for `zh-Hant-TW`: the country implies the script (CLDR). None for another script. */
function equivalentsOf(tag: string): string[] {
  const [, language, script, country] = OF_COUNTRY.exec(tag) ?? [];
  if (language === undefined || country === undefined) return [];
  const implied = new Intl.Locale(`${language}-${country}`).maximize().script;
  if (implied === undefined) return [];
  if (script === undefined) return [`${language}-${implied}`];
  return script === implied ? [`${language}-${country}`] : [];
}
