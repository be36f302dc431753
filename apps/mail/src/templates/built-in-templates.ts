import type { MailKind } from '#contracts';
import { mailPage, type MailWords } from './mail-page.js';
import type { MailTemplate } from './mail-template.types.js';

/** The words of the templates that are there without anybody setting one. They name no time: it is configurable. */
const WORDS: Readonly<Record<MailKind, readonly MailWords[]>> = {
  verifyEmail: [
    {
      language: 'en',
      subject: 'Verify your email address for {{appname}}',
      title: 'Verify your email address',
      request:
        'The account “{{username}}” at {{appname}} was given the address {{email}}. If this account is yours, confirm the address.',
      button: 'Verify address',
      bareLink: 'Or open this address in a browser:',
      notYou: 'If you did not make this account, ignore this mail: the address is then not verified.',
    },
    {
      language: 'zh',
      subject: '验证您在 {{appname}} 的邮箱地址',
      title: '验证邮箱地址',
      request: '{{appname}} 的账号“{{username}}”登记了邮箱地址 {{email}}。如果这是您的账号，请确认该地址。',
      button: '验证邮箱地址',
      bareLink: '或者在浏览器中打开以下链接：',
      notYou: '如果您没有注册这个账号，请忽略本邮件，该地址不会被验证。',
    },
  ],
  resetPassword: [
    {
      language: 'en',
      subject: 'Reset your password for {{appname}}',
      title: 'Reset your password',
      request: 'A new password was asked for, for your account “{{username}}” at {{appname}}.',
      button: 'Choose a new password',
      bareLink: 'Or open this address in a browser:',
      notYou: 'If it was not you, ignore this mail: your password stays as it is.',
    },
    {
      language: 'zh',
      subject: '重置您在 {{appname}} 的密码',
      title: '重置密码',
      request: '我们收到了为您在 {{appname}} 的账号“{{username}}”设置新密码的请求。',
      button: '设置新密码',
      bareLink: '或者在浏览器中打开以下链接：',
      notYou: '如果这不是您本人的操作，请忽略本邮件，您的密码不会改变。',
    },
  ],
};

export const BUILT_IN_TEMPLATES: Readonly<Record<MailKind, ReadonlyMap<string, MailTemplate>>> = {
  verifyEmail: templatesOf(WORDS.verifyEmail),
  resetPassword: templatesOf(WORDS.resetPassword),
};

function templatesOf(words: readonly MailWords[]): ReadonlyMap<string, MailTemplate> {
  return new Map(words.map((of) => [of.language, mailPage(of)]));
}
