import { HttpStatus } from '@nestjs/common';
import type { MailKind, MailLink } from '#contracts';
import { type Markup, markup } from '../html/markup.js';
import { chosen } from './page-document.js';
import type { PageRequest } from './page-request.js';
import type { Message, PageTexts } from './page-texts.js';
import type { PageView } from './page-view.js';

/** Where the form of a page leads to, seen from the page itself: so it works behind any prefix. */
const RENEWALS: Readonly<Record<MailKind, string>> = {
  verifyEmail: 'verify-email/renew',
  resetPassword: 'reset-password/renew',
};

/** Whose link it is, as far as that is known. */
export function renderOwner(
  { email, username }: Pick<MailLink, 'email' | 'username'>,
  { address, account }: PageTexts,
): Markup | undefined {
  const rows = [
    { name: address, value: email },
    { name: account, value: username },
  ].filter(({ value }) => value !== null);
  if (rows.length === 0) return undefined;
  return markup`<dl>
${rows.map(({ name, value }) => markup`<div><dt>${name}</dt><dd><bdi>${value ?? ''}</bdi></dd></div>\n`)}</dl>`;
}

/** The application as sentences name it. */
export function nameOf({ applicationName }: Pick<MailLink, 'applicationName'>, { someApplication }: PageTexts): Markup {
  return applicationName === null ? markup`${someApplication}` : chosen(applicationName);
}

/** The token goes along in the form, so that no address of a page after this one has it. */
export function renderToken(token: string): Markup {
  return markup`<input type="hidden" name="token" value="${token}">`;
}

/** A page that has nothing to do. */
export function messageView({ title, lead }: Message): Pick<PageView, 'title' | 'content'> {
  return { title, content: markup`<p class="lead">${lead}</p>` };
}

/** The link leads nowhere any more; perhaps another one can be sent. */
export function expiredView(kind: MailKind, link: MailLink, { token, texts }: PageRequest): PageView {
  const { title, lead } = texts.expired[kind];
  return {
    status: HttpStatus.GONE,
    sign: 'waiting',
    applicationName: link.applicationName,
    title,
    content: markup`<p class="lead">${lead}</p>
${link.canBeRenewed && link.email !== null ? renderRenewal(kind, link.email, { token, texts }) : markup`<p class="lead">${texts.expired.cannotBeRenewed}</p>`}`,
  };
}

function renderRenewal(
  kind: MailKind,
  email: string,
  { token, texts: { expired } }: Pick<PageRequest, 'token' | 'texts'>,
): Markup {
  return markup`<p class="lead">${expired.canBeRenewed(chosen(email))}</p>
<form method="post" action="${RENEWALS[kind]}">
${renderToken(token)}
<button>${expired.action}</button>
</form>`;
}
