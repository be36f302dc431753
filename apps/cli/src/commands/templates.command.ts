import { Argument, Command, Option } from 'commander';
import { StartError } from '#bootstrap';
import { applicationsRpc, MAIL_KINDS, type MailKind, templatesRpc } from '#contracts';
import type { WithServer } from '../operator-connection.js';
import { print, sourceOf, valueFrom, withoutLastBreak, writeFile } from '../terminal.js';

const KIND_WIDTH = 16;
const LANGUAGE_WIDTH = 8;

const HELP = `
A value is the text itself, @path/to/file, or - for standard input. Parts that are not given stay unchanged.

Templates are Handlebars. Variables:
  appname     name of the application
  email       recipient's address
  username    name of the user
  link        address of the page: it must be in the HTML and in the text
Blocks: {{#if x}} {{else}} {{/if}}, unless, with, each. In HTML all variables are escaped.

  npm run gatepost -- templates set my-app verifyEmail --language zh --subject '欢迎 {{username}}' --html @verify.html`;

type Parts = Readonly<Partial<Record<'html' | 'subject' | 'text', string>>>;

export function templatesCommand(withServer: WithServer): Command {
  const templates = new Command('templates').description('show and change the mail templates of an application');
  for (const command of [list, show, set, preview, reset]) templates.addCommand(command(withServer));
  return templates;
}

function list(withServer: WithServer): Command {
  return new Command('list')
    .argument('<app-id>')
    .description("list the languages of an application's mails")
    .action((appId: string) =>
      withServer(async (rpc) => {
        await rpc.call(applicationsRpc.get, { id: appId });
        const { templates } = await rpc.call(templatesRpc.list, { appId });
        for (const { kind, language, isOwn } of templates)
          print(`${kind.padEnd(KIND_WIDTH)}${language.padEnd(LANGUAGE_WIDTH)}${whose(isOwn)}`);
      }),
    );
}

function show(withServer: WithServer): Command {
  return placed('show')
    .description('show the template that a reader of the language gets')
    .action((appId: string, kind: MailKind, { language }: { language: string }) =>
      withServer(async (rpc) => {
        await rpc.call(applicationsRpc.get, { id: appId });
        const { template } = await rpc.call(templatesRpc.get, { appId, kind, language });
        print(`${kind} in ${template.language} (${whose(template.isOwn)})`);
        printParts(template);
      }),
    );
}

function set(withServer: WithServer): Command {
  return placed('set')
    .option('--subject <value>', 'the subject')
    .option('--html <value>', 'the mail as HTML')
    .option('--text <value>', 'the mail as text')
    .description('change a template; mails have it within a second')
    .addHelpText('after', HELP)
    .action((appId: string, kind: MailKind, { language, ...given }: Parts & { language: string }) => {
      const parts = readParts(given);
      return withServer(async (rpc) => {
        await rpc.call(applicationsRpc.get, { id: appId });
        const { template } = await rpc.call(templatesRpc.set, { appId, kind, language, parts });
        print(`Mails for ${kind} in ${template.language} now have a template of their own.`);
      });
    });
}

function preview(withServer: WithServer): Command {
  return placed('preview')
    .option('--out <file>', 'write the HTML to a file, to open it in a browser')
    .description('render a template for a user that does not exist')
    .action((appId: string, kind: MailKind, { language, out }: { language: string; out?: string }) =>
      withServer(async (rpc) => {
        const { application } = await rpc.call(applicationsRpc.get, { id: appId });
        const wanted = { appId, kind, language, applicationName: application.name };
        const { mail } = await rpc.call(templatesRpc.preview, wanted);
        print(`${kind} in ${mail.language} (${whose(mail.isOwn)})`);
        printParts(out === undefined ? mail : { subject: mail.subject, text: mail.text });
        if (out !== undefined) writeFile(out, 'HTML', mail.html);
      }),
    );
}

function reset(withServer: WithServer): Command {
  return placed('reset')
    .description("remove an application's own template")
    .action((appId: string, kind: MailKind, { language }: { language: string }) =>
      withServer(async (rpc) => {
        await rpc.call(templatesRpc.reset, { appId, kind, language });
        const { template } = await rpc.call(templatesRpc.get, { appId, kind, language });
        print(`Mails in ${language} now have the template in ${template.language} (${whose(template.isOwn)}).`);
      }),
    );
}

function placed(name: string): Command {
  return new Command(name)
    .argument('<app-id>')
    .addArgument(new Argument('<kind>', 'purpose of the mail').choices(MAIL_KINDS))
    .addOption(new Option('--language <tag>', 'such as en, zh or zh-TW').default('en'));
}

function readParts({ subject, html, text }: Parts): Parts {
  const parts = Object.entries({ subject, html, text });
  const given = parts.flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]));
  if (given.length === 0) throw new StartError('Give at least one part: --subject, --html, --text.');
  if (given.filter(([, value]) => value === '-').length > 1)
    throw new StartError('Only one part can come from standard input.');
  return Object.fromEntries(given.map(([name, value]) => [name, readPart(name, value)]));
}

function readPart(name: string, value: string): string {
  const source = sourceOf(value);
  const text = source === undefined ? value : valueFrom(`--${name}`, source);
  return name === 'subject' ? withoutLastBreak(text) : text;
}

function printParts(parts: Parts): void {
  for (const [name, value] of Object.entries({ subject: parts.subject, text: parts.text, html: parts.html }))
    if (value !== undefined) print(`\n--- ${name}\n${withoutLastBreak(value)}`);
}

function whose(isOwn: boolean): string {
  return isOwn ? 'own' : 'built-in';
}
