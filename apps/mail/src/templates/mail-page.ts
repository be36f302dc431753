import type { MailTemplate } from './mail-template.types.js';

/** What a mail with one link says, in one language. Variables stand in it as in any template. */
export interface MailWords {
  readonly language: string;
  readonly subject: string;
  readonly title: string;
  readonly request: string;
  readonly button: string;
  /** Before the link as text, for those who cannot press the button. */
  readonly bareLink: string;
  readonly notYou: string;
}

/** Mail programs drop style sheets as they like: what a mail needs stands at its elements, what is nicer stands here. */
const DARK_STYLES = `
      :root { color-scheme: light dark; }
      @media (prefers-color-scheme: dark) {
        .page { background: #14171b !important; color: #e6e8eb !important; }
        .quiet { color: #a9b0b9 !important; }
        .link { color: #8ab4f8 !important; }
        .button { background: #8ab4f8 !important; color: #0b1526 !important; }
      }
    `;

const FONT = "font-family: system-ui, -apple-system, 'Segoe UI', Roboto, 'PingFang SC', 'Microsoft YaHei', sans-serif";
const PAGE_STYLE = `margin: 0; padding: 0; background: #ffffff; color: #1c2024; ${FONT}; font-size: 16px; line-height: 1.6`;
const COLUMN_STYLE = 'max-width: 512px; margin: 0 auto; padding: 32px 20px; overflow-wrap: anywhere';
const TITLE_STYLE = 'margin: 0 0 16px; font-size: 22px; line-height: 1.3';
const PARAGRAPH_STYLE = 'margin: 0 0 20px';
const BUTTON_STYLE =
  'display: inline-block; padding: 12px 24px; border-radius: 8px; background: #0b57d0; color: #ffffff; font-weight: 600; text-decoration: none';
const QUIET_STYLE = 'margin: 0 0 20px; font-size: 14px; color: #59626c';
const LINK_STYLE = 'color: #0b57d0; word-break: break-all';

/** A mail that looks well without tables: one column, one button, the same link below it. */
export function mailPage(words: MailWords): MailTemplate {
  return { subject: words.subject, html: htmlOf(words), text: textOf(words) };
}

function htmlOf({ language, title, request, button, bareLink, notYou }: MailWords): string {
  return `<!doctype html>
<html lang="${language}">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>${title}</title>
    <style>${DARK_STYLES}</style>
  </head>
  <body class="page" style="${PAGE_STYLE}">
    <div class="page" role="article" lang="${language}" style="${COLUMN_STYLE}">
      <h1 style="${TITLE_STYLE}">${title}</h1>
      <p style="${PARAGRAPH_STYLE}">${request}</p>
      <p style="${PARAGRAPH_STYLE}"><a class="button" href="{{link}}" style="${BUTTON_STYLE}">${button}</a></p>
      <p class="quiet" style="${QUIET_STYLE}">${bareLink}<br><a class="link" href="{{link}}" style="${LINK_STYLE}">{{link}}</a></p>
      <p class="quiet" style="${QUIET_STYLE}">${notYou}</p>
    </div>
  </body>
</html>
`;
}

function textOf({ title, request, button, notYou }: MailWords): string {
  return `${title}\n\n${request}\n\n${button}:\n{{link}}\n\n${notYou}\n`;
}
