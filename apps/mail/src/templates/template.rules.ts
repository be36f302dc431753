/** The three parts of a mail: their sources in a template, their texts once it is rendered. */
export interface MailTemplate {
  readonly subject: string;
  readonly html: string;
  readonly text: string;
}

export type TemplatePart = keyof MailTemplate;

/** What stands in a mail of its own. The names are those of the service that applications come from. */
export interface MailVariables {
  readonly appname: string;
  readonly email: string;
  readonly username: string;
  readonly link: string;
}

export interface RenderedMail extends MailTemplate {
  /** Whose template it was. */
  readonly language: string;
}

/** Control characters, line and paragraph separators, and what turns the direction of the text around it. */
const UNSEEN = /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]+/gu;

/** Names are chosen by whoever signs up with somebody else's address: nobody shall send a letter of his own in one. */
const MAX_NAME_LENGTH = 100;
/** What a mail program may turn into a link. Names such as `ada.lovelace` and addresses stay as they are: they are copied. */
const LINKABLE = /[\s/:]|^www\./i;
const ZERO_WIDTH_SPACE = '\u200b';
const MAX_EMAIL_LENGTH = 320;
const MAX_LINK_LENGTH = 4_096;
const MAX_SUBJECT_LENGTH = 500;

/**
 * The variables as they may stand in a mail: each on one line, and bounded.
 * @throws Error where the link leads to no page
 */
export function safeVariables({ appname, email, username, link }: MailVariables): MailVariables {
  return {
    appname: cut(oneLine(appname), MAX_NAME_LENGTH),
    email: cut(oneLine(email), MAX_EMAIL_LENGTH),
    username: unlinked(cut(oneLine(username), MAX_NAME_LENGTH)),
    link: pageLink(link),
  };
}

/** A rendered subject as it may stand in a header: whatever the template and the variables are, it is one line. */
export function inSubject(rendered: string): string {
  return cut(oneLine(rendered), MAX_SUBJECT_LENGTH);
}

function oneLine(text: string): string {
  return text.toWellFormed().replaceAll(UNSEEN, ' ').trim();
}

/** Keeps a name from leading anywhere: with a space of no width behind its dots and colons no mail program sees a link in it. */
function unlinked(name: string): string {
  return LINKABLE.test(name) ? name.replaceAll(/[.:](?=\S)/g, `$&${ZERO_WIDTH_SPACE}`) : name;
}

/** Cuts between characters, never inside of one. */
function cut(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  const kept = text.slice(0, maxLength - 1).replace(/[\ud800-\udbff]$/, '');
  return `${kept}…`;
}

/** In its normal form it holds no quote that ends an attribute, no space and no bracket. */
function pageLink(link: string): string {
  const { href, protocol } = new URL(link);
  if (protocol !== 'https:' && protocol !== 'http:') throw new Error(`a link cannot lead to ${protocol}`);
  if (href.length > MAX_LINK_LENGTH) throw new Error(`a link cannot be longer than ${MAX_LINK_LENGTH} characters`);
  return href;
}

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
