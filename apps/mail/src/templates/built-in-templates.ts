import type { MailKind } from '#contracts';
import type { MailTemplate } from './template.rules.js';

const LANGUAGES = ['en', 'zh'] as const;
type Language = (typeof LANGUAGES)[number];

interface MailTexts {
  readonly subject: string;
  readonly title: string;
  readonly request: string;
  readonly button: string;
  readonly notRequested: string;
}

/** Mail programs may drop style sheets, so required styles are inline and optional ones are here. */
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

function mailPage(language: Language, texts: MailTexts): MailTemplate {
  return { subject: texts.subject, html: htmlOf(language, texts), text: textOf(texts) };
}

/** Introduces the link as text, for mail programs without buttons. */
const BARE_LINK: Readonly<Record<Language, string>> = {
  en: 'Or open this address in a browser:',
  zh: '或者在浏览器中打开以下链接：',
};

function htmlOf(language: Language, { title, request, button, notRequested }: MailTexts): string {
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
      <p class="quiet" style="${QUIET_STYLE}">${BARE_LINK[language]}<br><a class="link" href="{{link}}" style="${LINK_STYLE}">{{link}}</a></p>
      <p class="quiet" style="${QUIET_STYLE}">${notRequested}</p>
    </div>
  </body>
</html>
`;
}

function textOf({ title, request, button, notRequested }: MailTexts): string {
  return `${title}\n\n${request}\n\n${button}:\n{{link}}\n\n${notRequested}\n`;
}

/** The texts of the built-in templates. They do not name the lifetime of the link, because it is configurable. */
const TEXTS: Readonly<Record<MailKind, Record<Language, MailTexts>>> = {
  verifyEmail: {
    en: {
      subject: 'Verify your email address for {{appname}}',
      title: 'Verify your email address',
      request:
        'The account “{{username}}” at {{appname}} was given the address {{email}}. If this account is yours, confirm the address.',
      button: 'Verify address',
      notRequested: 'If you did not create this account, ignore this mail: the address is then not verified.',
    },
    zh: {
      subject: '验证您在 {{appname}} 的邮箱地址',
      title: '验证邮箱地址',
      request: '{{appname}} 的账号“{{username}}”登记了邮箱地址 {{email}}。如果这是您的账号，请确认该地址。',
      button: '验证邮箱地址',
      notRequested: '如果您没有注册这个账号，请忽略本邮件，该地址不会被验证。',
    },
  },
  resetPassword: {
    en: {
      subject: 'Reset your password for {{appname}}',
      title: 'Reset your password',
      request: 'A new password was requested for your account “{{username}}” at {{appname}}.',
      button: 'Choose a new password',
      notRequested: 'If it was not you, ignore this mail: your password stays as it is.',
    },
    zh: {
      subject: '重置您在 {{appname}} 的密码',
      title: '重置密码',
      request: '我们收到了为您在 {{appname}} 的账号“{{username}}”设置新密码的请求。',
      button: '设置新密码',
      notRequested: '如果这不是您本人的操作，请忽略本邮件，您的密码不会改变。',
    },
  },
};

/** The texts of an invitation. `username` is the inviting operator. */
const INVITATIONS: Readonly<Record<Language, MailTexts>> = {
  en: {
    subject: 'Invitation to the operator console of {{appname}}',
    title: 'Operator console of {{appname}}',
    request: '{{username}} invites you ({{email}}) to the operator console. The link works once, within 24 hours.',
    button: 'Accept the invitation',
    notRequested: 'If you did not expect this invitation, ignore this mail.',
  },
  zh: {
    subject: '邀请您使用 {{appname}} 控制台',
    title: '{{appname}} 控制台',
    request: '{{username}} 邀请您（{{email}}）使用控制台。链接在 24 小时内有效，只能使用一次。',
    button: '接受邀请',
    notRequested: '如果您没有预期收到此邀请，请忽略本邮件。',
  },
};

export const INVITATION_TEMPLATES: Readonly<Record<Language, MailTemplate>> = {
  en: mailPage('en', INVITATIONS.en),
  zh: mailPage('zh', INVITATIONS.zh),
};

export const BUILT_IN_TEMPLATES: Readonly<Record<MailKind, ReadonlyMap<string, MailTemplate>>> = {
  verifyEmail: templatesOf(TEXTS.verifyEmail),
  resetPassword: templatesOf(TEXTS.resetPassword),
};

function templatesOf(texts: Readonly<Record<Language, MailTexts>>): ReadonlyMap<string, MailTemplate> {
  return new Map(LANGUAGES.map((language) => [language, mailPage(language, texts[language])]));
}
