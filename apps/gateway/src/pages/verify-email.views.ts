import type { MailLink } from '#contracts';
import { markup } from '../html/markup.js';
import { messageView, nameOf, renderOwner, renderToken } from './link.views.js';
import type { PageRequest } from './page-request.js';
import type { PageTexts } from './page-texts.js';
import type { PageView } from './page-view.js';

/** Asks for the one press of a button that a mail scanner does not make. */
export function askToVerifyView(link: MailLink, { token, texts }: PageRequest): PageView {
  const { title, lead, action, note } = texts.verify;
  return {
    sign: 'letter',
    applicationName: link.applicationName,
    title,
    content: markup`<p class="lead">${lead}</p>
${renderOwner(link, texts)}
<form method="post" action="verify-email">
${renderToken(token)}
<button>${action}</button>
</form>
<p class="note">${note}</p>`,
  };
}

export function verifiedView(link: MailLink, texts: PageTexts): PageView {
  const { title, lead } = texts.verified;
  return {
    sign: 'done',
    applicationName: link.applicationName,
    title,
    content: markup`<p class="lead">${lead(nameOf(link, texts))}</p>
${renderOwner(link, texts)}`,
  };
}

export function alreadyVerifiedView({ applicationName }: MailLink, { alreadyVerified }: PageTexts): PageView {
  return { sign: 'done', applicationName, ...messageView(alreadyVerified) };
}
