import { HttpStatus } from '@nestjs/common';
import type { MailKind, MailLink } from '#contracts';
import { MIN_PASSWORD_LENGTH, type PageRequest, type PasswordMistakes } from './page-request.js';
import type { Message, PageTexts } from './page-texts.en.js';

/** The icon of a page; it repeats what the title says. */
export type PageIcon = 'letter' | 'key' | 'done' | 'waiting' | 'trouble';

/** A sentence with at most one name in it. A name that a user chose is set apart from the text around it. */
interface Sentence {
  readonly before: string;
  readonly chosenName: string | null;
  readonly after: string;
}

interface Field {
  readonly name: string;
  readonly label: string;
  readonly hint?: string;
  readonly mistake?: string | undefined;
  readonly isFocused: boolean;
}

interface FieldView {
  readonly name: string;
  readonly label: string;
  readonly minLength: number;
  readonly describedBy: string;
  readonly isInvalid: boolean;
  readonly isFocused: boolean;
  readonly notes: readonly { readonly id: string; readonly style: string; readonly text: string }[];
}

interface FormView {
  /** Relative to the page, so that it works behind any prefix. */
  readonly action: string;
  /** Sent in the form, so that the URL of no later page contains it. */
  readonly token: string;
  readonly button: string;
  /** Password managers store the new password under this name. */
  readonly username?: string;
  readonly fields?: readonly FieldView[];
}

export interface PageView {
  readonly status?: number;
  readonly retryAfterSeconds?: number | undefined;
  readonly icon: PageIcon;
  readonly applicationName?: string | null;
  readonly title: string;
  readonly leads: readonly Sentence[];
  readonly owner?: readonly { readonly name: string; readonly value: string }[];
  readonly alert?: string | undefined;
  readonly form?: FormView;
  readonly note?: string;
}

export function messageView({ title, lead }: Message): Pick<PageView, 'title' | 'leads'> {
  return { title, leads: [sentence(lead)] };
}

/** The page of a link that no longer works. It offers a new mail where one can be sent. */
export function expiredView(kind: MailKind, link: MailLink, { token, texts }: PageRequest): PageView {
  const { canBeRenewed, action, cannotBeRenewed, [kind]: message } = texts.expired;
  const { title, leads } = messageView(message);
  const page = { status: HttpStatus.GONE, icon: 'waiting', applicationName: link.applicationName, title } as const;
  if (!link.canBeRenewed || link.email === null) return { ...page, leads: [...leads, sentence(cannotBeRenewed)] };
  return {
    ...page,
    leads: [...leads, sentence(canBeRenewed, link.email)],
    form: { action: RENEWAL_ACTIONS[kind], token, button: action },
  };
}

/** Verification takes a press of the button, because mail scanners open every link. */
export function askToVerifyView(link: MailLink, { token, texts }: PageRequest): PageView {
  const { action, note } = texts.verify;
  return {
    icon: 'letter',
    applicationName: link.applicationName,
    ...messageView(texts.verify),
    owner: ownerOf(link, texts),
    form: { action: 'verify-email', token, button: action },
    note,
  };
}

export function verifiedView(link: MailLink, texts: PageTexts): PageView {
  return { ...doneView(link, texts.verified, texts), owner: ownerOf(link, texts) };
}

export function alreadyVerifiedView({ applicationName }: MailLink, { alreadyVerified }: PageTexts): PageView {
  return { icon: 'done', applicationName, ...messageView(alreadyVerified) };
}

/** Asks for a new password, twice. The page never contains what was typed. */
export function newPasswordView(
  link: MailLink,
  { token, texts }: Pick<PageRequest, 'token' | 'texts'>,
  mistakes?: PasswordMistakes,
): PageView {
  const { action, note, refusal } = texts.reset;
  return {
    status: mistakes === undefined ? HttpStatus.OK : HttpStatus.BAD_REQUEST,
    icon: 'key',
    applicationName: link.applicationName,
    ...messageView(texts.reset),
    owner: ownerOf({ ...link, email: null }, texts),
    alert: mistakes === undefined ? undefined : refusal,
    form: {
      action: 'reset-password',
      token,
      button: action,
      username: link.username ?? '',
      fields: passwordFields(texts, mistakes),
    },
    note,
  };
}

export function wasResetView(link: MailLink, texts: PageTexts): PageView {
  return doneView(link, texts.wasReset, texts);
}

const RENEWAL_ACTIONS: Readonly<Record<MailKind, string>> = {
  verifyEmail: 'verify-email/renew',
  resetPassword: 'reset-password/renew',
};

function doneView(
  { applicationName }: MailLink,
  { title, lead }: Message,
  { someApplication }: Pick<PageTexts, 'someApplication'>,
): PageView {
  const named =
    applicationName === null ? sentence(lead.replace(NAME, someApplication)) : sentence(lead, applicationName);
  return { icon: 'done', applicationName, title, leads: [named] };
}

const NAME = '{name}';

function sentence(text: string, chosenName: string | null = null): Sentence {
  const [before = '', after = ''] = chosenName === null ? [text] : text.split(NAME);
  return { before, chosenName, after };
}

function ownerOf(
  { email, username }: Pick<MailLink, 'email' | 'username'>,
  { address, account }: PageTexts,
): NonNullable<PageView['owner']> {
  const rows = [
    { name: address, value: email },
    { name: account, value: username },
  ];
  return rows.flatMap(({ name, value }) => (value === null ? [] : [{ name, value }]));
}

function passwordFields({ reset }: PageTexts, { password, isDifferent = false }: PasswordMistakes = {}): FieldView[] {
  const fields: Field[] = [
    {
      name: 'password',
      label: reset.password,
      hint: reset.rule,
      mistake: password === undefined ? undefined : reset.mistakes[password],
      isFocused: !isDifferent,
    },
    {
      name: 'repeat',
      label: reset.repeat,
      mistake: isDifferent ? reset.different : undefined,
      isFocused: isDifferent,
    },
  ];
  return fields.map(fieldView);
}

function fieldView({ name, label, hint, mistake, isFocused }: Field): FieldView {
  const notes = [
    { id: `${name}-mistake`, style: 'mistake', text: mistake },
    { id: `${name}-hint`, style: 'hint', text: hint },
  ].flatMap(({ text, ...note }) => (text === undefined ? [] : [{ ...note, text }]));
  return {
    name,
    label,
    minLength: MIN_PASSWORD_LENGTH,
    describedBy: notes.map(({ id }) => id).join(' '),
    isInvalid: mistake !== undefined,
    isFocused,
    notes,
  };
}
