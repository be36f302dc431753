import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  type AppKeys,
  createApplication,
  gatepost,
  gatepostReading,
  type GatepostServer,
  newFolder,
  unique,
} from '#testing';
import { expectRefused } from './refusal.js';

/** What mails say, set by the application's operator. */
export function describeTemplates(server: () => GatepostServer): void {
  describe('the templates of mails, by the command line', () => {
    let app: AppKeys;
    let folder: string;
    const templates = (...args: string[]) => gatepost(server(), 'templates', ...args);
    const listed = async () => (await templates('list', app.id)).stdout;
    const expectRefusal = async (args: readonly string[], text: RegExp) => {
      expectRefused(await templates(...args), text);
    };

    beforeAll(async () => {
      app = await createApplication(server());
      folder = newFolder('templates');
      writeFileSync(join(folder, 'mail.html'), '<p>欢迎 {{username}}: <a href="{{link}}">here</a></p>\n');
    });

    it('are the built-in ones at first', async () => {
      expect(await listed()).toBe(
        'verifyEmail     en      built-in\nverifyEmail     zh      built-in\nresetPassword   en      built-in\nresetPassword   zh      built-in\n',
      );
      const { stdout } = await templates('show', app.id, 'verifyEmail', '--language', 'zh-CN');
      expect(stdout).toMatch(/^verifyEmail in zh \(built-in\)\n\n--- subject\n验证您在 \{\{appname\}\} 的邮箱地址\n/);
    });

    it('are set by parts: from an argument, from a file, from standard input', async () => {
      const html = `@${join(folder, 'mail.html')}`;
      const { status, stdout } = await templates(
        'set',
        app.id,
        'verifyEmail',
        '--subject',
        'Hi {{username}}',
        '--html',
        html,
      );
      expect([status, stdout]).toEqual([0, 'Mails for verifyEmail in en now have a template of their own.\n']);
      const args = ['templates', 'set', app.id, 'verifyEmail', '--text', '-'];
      expect((await gatepostReading('Go: {{link}}', server(), ...args)).status).toBe(0);
      expect((await templates('show', app.id, 'verifyEmail')).stdout).toBe(
        'verifyEmail in en (own)\n\n--- subject\nHi {{username}}\n\n--- text\nGo: {{link}}\n\n--- html\n<p>欢迎 {{username}}: <a href="{{link}}">here</a></p>\n',
      );
      expect(await listed()).toMatch(/^verifyEmail +en +own$/m);
    });

    it('are previewed, and their HTML written into a file', async () => {
      const out = join(folder, 'preview.html');
      const { stdout } = await templates('preview', app.id, 'verifyEmail', '--out', out);
      expect(stdout).toMatch(
        /^verifyEmail in en \(own\)\n\n--- subject\nHi ada\n\n--- text\nGo: https:\/\/example\.com\//,
      );
      expect(stdout).not.toContain('--- html');
      expect(readFileSync(out, 'utf8')).toMatch(/^<p>欢迎 ada: <a href="https:\/\/example\.com\//);
    });

    it('refuse in plain words what they do not take', async () => {
      const set = ['set', app.id, 'verifyEmail'];
      const before = await listed();
      await expectRefusal([...set, '--text', 'a\n{{nobody}}'], /^text, line 2: there is no variable "nobody"/);
      await expectRefusal([...set, '--html', '@/no/such/file'], /^--html: the file \/no\/such\/file cannot be read/);
      await expectRefusal(set, /^Give what shall change/);
      await expectRefusal([...set, '--text', '-', '--html', '-'], /^Only one part can come from standard input/);
      await expectRefusal(['set', app.id, 'newsletter', '--subject', 'x'], /verifyEmail, resetPassword/);
      await expectRefusal(['set', unique('nobody'), 'verifyEmail', '--subject', 'x'], /^There is no application/);
      expect(await listed()).toBe(before);
    });

    it('are the built-in ones again once they are reset', async () => {
      const { stdout } = await templates('reset', app.id, 'verifyEmail');
      expect(stdout).toBe('Mails in en now have the template in en (built-in).\n');
      await expectRefusal(['reset', app.id, 'verifyEmail'], /has no template of its own/);
      expect(await listed()).not.toContain('own\n');
    });
  });
}
