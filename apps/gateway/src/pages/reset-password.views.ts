import { HttpStatus } from '@nestjs/common';
import type { MailLink } from '#contracts';
import { type Markup, markup } from '../html/markup.js';
import { nameOf, renderOwner, renderToken } from './link.views.js';
import { MIN_PASSWORD_LENGTH, type PasswordMistakes } from './new-password.js';
import type { PageRequest } from './page-request.js';
import type { PageTexts } from './page-texts.js';
import type { PageView } from './page-view.js';

interface PasswordField {
  readonly name: string;
  readonly label: string;
  readonly hint?: string;
  readonly mistake?: string | undefined;
  readonly isFirst: boolean;
}

/** Asks for a new password, twice. What was typed is never sent back. */
export function newPasswordView(
  link: MailLink,
  { token, texts }: Pick<PageRequest, 'token' | 'texts'>,
  mistakes?: PasswordMistakes,
): PageView {
  const { title, lead, action, note, refusal } = texts.reset;
  return {
    status: mistakes === undefined ? HttpStatus.OK : HttpStatus.BAD_REQUEST,
    sign: 'key',
    applicationName: link.applicationName,
    title,
    content: markup`<p class="lead">${lead}</p>
${renderOwner({ ...link, email: null }, texts)}
${mistakes === undefined ? undefined : markup`<p class="refusal" role="alert">${refusal}</p>`}
<form method="post" action="reset-password">
${renderToken(token)}
<input type="text" id="username" autocomplete="username" value="${link.username ?? ''}" readonly hidden>
${renderFields(texts, mistakes)}
<button>${action}</button>
</form>
<p class="note">${note}</p>`,
  };
}

function renderFields({ reset }: PageTexts, { password, isDifferent }: PasswordMistakes = {}): Markup[] {
  return [
    {
      name: 'password',
      label: reset.password,
      hint: reset.rule,
      mistake: password === undefined ? undefined : reset.mistakes[password],
      isFirst: isDifferent !== true,
    },
    {
      name: 'repeat',
      label: reset.repeat,
      mistake: isDifferent === true ? reset.different : undefined,
      isFirst: isDifferent === true,
    },
  ].map(renderField);
}

function renderField({ name, label, hint, mistake, isFirst }: PasswordField): Markup {
  const notes = [
    { id: `${name}-mistake`, style: 'mistake', text: mistake },
    { id: `${name}-hint`, style: 'hint', text: hint },
  ].filter(({ text }) => text !== undefined);
  const described = notes.length === 0 ? undefined : markup` aria-describedby="${notes.map(({ id }) => id).join(' ')}"`;
  const invalid = mistake === undefined ? undefined : markup` aria-invalid="true"`;
  return markup`<div class="field">
<label for="${name}">${label}</label>
<input type="password" id="${name}" name="${name}" autocomplete="new-password" required minlength="${MIN_PASSWORD_LENGTH}"${described}${invalid}${isFirst ? markup` autofocus` : undefined}>
${notes.map(({ id, style, text }) => markup`<p class="${style}" id="${id}">${text}</p>\n`)}</div>
`;
}

export function wasResetView(link: MailLink, texts: PageTexts): PageView {
  const { title, lead } = texts.wasReset;
  return {
    sign: 'done',
    applicationName: link.applicationName,
    title,
    content: markup`<p class="lead">${lead(nameOf(link, texts))}</p>`,
  };
}
