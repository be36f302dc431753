import type { TestingModule } from '@nestjs/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Clock } from '#bootstrap';
import { MAIL_KINDS, type MailKind } from '#contracts';
import { Metrics } from '#observability';
import { Sealer } from '#security';
import { eventually, unique } from '#testing';
import { mailModule, openMailModule } from '../../test/mail-module.js';
import { DeliveriesRepository } from '../deliveries/deliveries.repository.js';
import { DeliveriesService } from '../deliveries/deliveries.service.js';
import { DeliveryLogRepository } from '../deliveries/delivery-log.repository.js';
import { DeliverySender } from '../deliveries/delivery-sender.js';
import { MailDatabase } from '../mail.config.js';
import { mailDatabase } from '../mail.database.js';
import { MailComposer } from '../mails/mail.channels.js';
import { TemplatesController } from './templates.controller.js';
import { TemplatesRepository } from './templates.repository.js';
import { TemplatesService } from './templates.service.js';

const VARIABLES = {
  appname: 'Shop',
  email: 'ada@example.com',
  username: 'ada',
  link: 'https://shop.example/v?token=x',
};

const ownTemplate = (mark: string) => ({ subject: mark, html: `<p>${mark} {{link}}`, text: `${mark} {{link}}` });

describe('the templates of mails', () => {
  let module: TestingModule;
  const sealer = new Sealer('a secret of thirty-two characters, or more');
  let database: MailDatabase;
  let sender: DeliverySender;
  let deliveries: DeliveriesService;
  let service: TemplatesService;
  let controller: TemplatesController;
  let appId: string;

  const newService = () => new TemplatesService(module.get(TemplatesRepository));
  const set = async (
    language: string,
    parts: Partial<ReturnType<typeof ownTemplate>>,
    kind: MailKind = 'verifyEmail',
  ) => (await controller.set({ appId, kind, language, parts })).template;
  const render = (languages: string[], of = service, kind: MailKind = 'verifyEmail') =>
    of.render({ appId, kind, languages, variables: VARIABLES });
  const subjectFor = async (...languages: string[]) => (await render(languages)).subject;

  beforeAll(async () => {
    module = await mailModule(10, TemplatesRepository, DeliveriesRepository, DeliveryLogRepository);
    database = module.get(MailDatabase);
    const repository = module.get(DeliveriesRepository);
    sender = new DeliverySender(database, repository, sealer, new Metrics(), { mailLimit: undefined });
    deliveries = new DeliveriesService(repository, module.get(DeliveryLogRepository), sender, sealer, new Metrics());
  });
  afterAll(() => module.close());
  beforeEach(() => {
    [appId, service] = [unique('app'), newService()];
    controller = new TemplatesController(module.get(TemplatesRepository), service, deliveries, database, new Clock());
  });

  describe('that another operator has changed since they were read', () => {
    const place = () => ({ appId, kind: 'verifyEmail' as const, language: 'en' });
    const refused = expect.objectContaining({ errorName: 'NO_EFFECT' }) as unknown;
    const read = async () => {
      const { subject, html, text } = (await controller.get(place())).template;
      return { subject, html, text };
    };
    const replace = (former: ReturnType<typeof ownTemplate>, parts: object) =>
      controller.set({ ...place(), parts, former });

    it('are neither replaced nor reset', async () => {
      const builtIn = await read();
      await replace(builtIn, { subject: 'first' });
      const first = await read();
      await expect(replace(builtIn, { subject: 'late' })).rejects.toEqual(refused);
      await replace(first, { subject: 'second' });
      await expect(replace(first, { subject: 'late' })).rejects.toEqual(refused);
      await expect(controller.reset({ ...place(), former: first })).rejects.toEqual(refused);
      expect((await read()).subject).toBe('second');
      await controller.reset({ ...place(), former: await read() });
      await expect(replace(first, { subject: 'late' })).rejects.toEqual(refused);
      expect(await read()).toEqual(builtIn);
    });

    it('are replaced by one of two at once', async () => {
      const former = await read();
      const both = await Promise.allSettled(['a', 'b'].map((subject) => replace(former, { subject })));
      expect(both.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
      const first = await read();
      const next = await Promise.allSettled(['c', 'd'].map((subject) => replace(first, { subject })));
      expect(next.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    });
  });

  describe('that are not stored', () => {
    const place = () => ({ appId, kind: 'verifyEmail' as const, language: 'en', applicationName: 'Shop' });

    it('are previewed with a sample, and stay unstored', async () => {
      const parts = { subject: 'Hello {{username}}', text: '{{link}} {{email}}' };
      const { mail } = await controller.preview({
        ...place(),
        parts,
        sample: { username: 'bo', email: 'bo@example.org' },
      });
      expect(mail).toMatchObject({ subject: 'Hello bo', language: 'en', isOwn: false });
      expect(mail.text).toMatch(/token=sample bo@example\.org$/);
      expect(mail.html).toContain('<html lang="en">');
      expect(await subjectFor('en')).not.toContain('Hello');
    });

    it.each([
      [{ html: '<p>{{unknown}} {{link}}' }, /html, line 1/],
      [{ text: 'no link' }, /text.*\{\{link\}\}/],
      [{ subject: '{{#if link}}' }, /subject/],
    ])('are refused with part and reason where they do not render: %j', async (parts, message) => {
      const expected = expect.objectContaining({
        errorName: 'INCORRECT_TYPE',
        message: expect.stringMatching(message) as string,
      }) as unknown;
      await expect(controller.preview({ ...place(), parts })).rejects.toEqual(expected);
      await expect(controller.sendTest({ ...place(), parts, to: 'op@example.com' })).rejects.toEqual(expected);
    });

    it('are mailed as a test, with a link of no user', async () => {
      const parts = { subject: 'Test for {{username}}', html: '<a href="{{link}}">{{email}}</a>' };
      const { id } = await controller.sendTest({ ...place(), parts, to: 'op@example.com' });
      const { items } = await sender.take('mail', 10);
      expect(items).toMatchObject([{ id, kind: 'test', recipient: 'op@example.com' }]);
      const composer = new MailComposer(service, {
        baseUrl: 'https://api.example.com',
        mailFrom: 'no-reply@example.com',
      });
      const { options, link } = await composer.compose(sender.open(items[0]!));
      expect(link).toBe('https://api.example.com/pages/verify-email?token=test');
      expect(options).toMatchObject({
        subject: 'Test for ada',
        html: expect.stringContaining('op@example.com') as string,
      });
      const [row] = await database.query<{ userId: string | null; expires: Date }>(
        'SELECT user_id AS "userId", expires_at AS expires FROM mail.deliveries WHERE id = $1',
        [id],
      );
      expect(row?.userId).toBeNull();
      expect(row!.expires.getTime() - Date.now()).toBeLessThanOrEqual(3_600_000);
    });
  });

  it.each(MAIL_KINDS.flatMap((kind) => ['en', 'zh'].map((language) => ({ kind, language }))))(
    'built in: $kind in $language names user and application, and contains the link as button and as text',
    async ({ kind, language }) => {
      const mail = await render([language], service, kind);
      expect(mail.language).toBe(language);
      expect(mail.subject).toContain('Shop');
      expect(mail.html.match(/href="https:\/\/shop\.example\/v\?token&#x3D;x"/g)).toHaveLength(2);
      expect(mail.html).toContain(`<html lang="${language}">`);
      expect(mail.text).toContain('\nhttps://shop.example/v?token=x\n');
      for (const part of [mail.html, mail.text]) expect(part).toContain('“ada”');
      expect(JSON.stringify(mail)).not.toContain('{{');
    },
  );

  it('are the built-in ones in the first available language, else English', async () => {
    expect((await render(['zh-CN', 'en'])).language).toBe('zh');
    expect((await render(['fr', 'en-GB', 'zh'])).language).toBe('en');
    expect((await render(['fr'])).language).toBe('en');
    expect((await render([])).language).toBe('en');
  });

  it("are the application's own before the built-in one of the same language, and before less preferred languages", async () => {
    await set('en', ownTemplate('own en'));
    await set('fr-CA', ownTemplate('own fr-CA'));
    expect(await subjectFor('en-GB')).toBe('own en');
    expect(await subjectFor('fr-ca', 'en')).toBe('own fr-CA');
    expect(await subjectFor('fr', 'en')).toBe('own en');
    expect((await render(['zh', 'fr-CA'])).language).toBe('zh');
    expect(await subjectFor()).toBe('own en');
    expect((await render(['en'], service, 'resetPassword')).subject).toBe('Reset your password for Shop');
  });

  it('of one application do not apply to another', async () => {
    await set('en', ownTemplate('own'));
    appId = unique('other');
    expect(await subjectFor('en')).toBe('Verify your email address for Shop');
  });

  it('are listed as own or built-in', async () => {
    await set('zh-cn', ownTemplate('own'), 'resetPassword');
    await set('en', ownTemplate('own'), 'resetPassword');
    expect((await controller.list({ appId })).templates).toEqual([
      { kind: 'verifyEmail', language: 'en', isOwn: false },
      { kind: 'verifyEmail', language: 'zh', isOwn: false },
      { kind: 'resetPassword', language: 'en', isOwn: true },
      { kind: 'resetPassword', language: 'zh', isOwn: false },
      { kind: 'resetPassword', language: 'zh-CN', isOwn: true },
    ]);
  });

  it('change by parts: missing parts stay as they are in the own or built-in template', async () => {
    const shown = await set('en', { subject: 'Welcome {{username}}' });
    expect(shown).toMatchObject({ language: 'en', isOwn: true, subject: 'Welcome {{username}}' });
    expect(shown.text).toMatch(/^Verify your email address\n/);
    await set('en', { text: 'Go {{link}}' });
    expect(await render(['en'])).toMatchObject({ subject: 'Welcome ada', text: 'Go https://shop.example/v?token=x' });
  });

  it('keep every part of concurrent changes', async () => {
    await Promise.all([
      set('en', { subject: 'S' }),
      set('en', { text: 'T {{link}}' }),
      set('en', { html: 'H {{link}}' }),
    ]);
    const { template } = await controller.get({ appId, kind: 'verifyEmail', language: 'en' });
    expect(template).toMatchObject({
      subject: 'S',
      text: 'T {{link}}',
      html: 'H {{link}}',
    });
  });

  it('in a new language require all parts', async () => {
    await expect(set('fr', { subject: 'Bonjour' })).rejects.toMatchObject({
      errorName: 'INCORRECT_TYPE',
      message: 'There is no template for verifyEmail in fr yet: html and text must be given too.',
    });
    expect(await set('zh-TW', { subject: '你好' })).toMatchObject({ language: 'zh-TW', isOwn: true });
  });

  it.each([
    [
      { html: '{{link}}\n{{unknown}}' },
      'html, line 2: there is no variable "unknown", only appname, email, username, link',
    ],
    [{ text: 'Hello' }, 'text: it must contain {{link}}'],
    [{ html: '{{#unless link}}{{link}}{{/unless}}' }, 'html: it contains {{link}} only where it is never rendered'],
    [{ subject: '{{#unless email}}x{{/unless}}' }, 'subject: it is empty'],
    [{ subject: '字'.repeat(1_000) }, 'subject: it is longer than 2000 bytes'],
  ])('%j is refused, and nothing changes', async (parts, message) => {
    await expect(set('en', parts)).rejects.toMatchObject({ errorName: 'INCORRECT_TYPE', message });
    expect((await controller.list({ appId })).templates.some(({ isOwn }) => isOwn)).toBe(false);
  });

  it('are previewed with sample variables', async () => {
    const wanted = { appId, kind: 'verifyEmail', language: 'zh-CN', applicationName: '<店>' } as const;
    expect((await controller.preview(wanted)).mail).toMatchObject({
      language: 'zh',
      isOwn: false,
      subject: '验证您在 <店> 的邮箱地址',
    });
    await set('zh', ownTemplate('own'));
    expect((await controller.preview(wanted)).mail).toMatchObject({
      isOwn: true,
      text: expect.stringMatching(/^own https/) as string,
    });
  });

  it('are the built-in ones again after a reset, which fails the second time', async () => {
    await set('en', ownTemplate('own'));
    const place = { appId, kind: 'verifyEmail', language: 'EN' } as const;
    await controller.reset(place);
    expect(await subjectFor('en')).toBe('Verify your email address for Shop');
    await expect(controller.reset(place)).rejects.toMatchObject({ errorName: 'NOT_FOUND', status: 404 });
  });

  it('are at most one second old in other processes', async () => {
    const other = newService();
    const subjectThere = async () => (await render(['en'], other)).subject;
    expect(await subjectThere()).toBe('Verify your email address for Shop');
    for (const mark of ['first', 'second']) {
      await set('en', ownTemplate(mark));
      expect(await subjectFor('en')).toBe(mark);
      await eventually(async () => {
        expect(await subjectThere()).toBe(mark);
      }, 2_000);
    }
    await controller.reset({ appId, kind: 'verifyEmail', language: 'en' });
    expect(await subjectThere()).toMatch(/^(?:second|Verify your email address for Shop)$/);
    await eventually(async () => {
      expect(await subjectThere()).toBe('Verify your email address for Shop');
    }, 2_000);
  });

  it('that no longer compile are an error, never a built-in mail', async () => {
    await set('en', ownTemplate('own'));
    await database.query(
      "UPDATE mail.templates SET text = '{{unknown}}', revision = gen_random_uuid() WHERE app_id = $1",
      [appId],
    );
    await expect(render(['en'], newService())).rejects.toThrow(/there is no variable "unknown"/);
  });

  it('in an unavailable database are an error, never the built-in ones', async () => {
    const unavailable = await openMailModule(
      mailDatabase('postgres://user@127.0.0.1:1/nowhere', 1),
      TemplatesRepository,
    );
    const away = new TemplatesService(unavailable.get(TemplatesRepository));
    await expect(render(['en'], away)).rejects.toMatchObject({ errorName: 'SERVICE_UNAVAILABLE' });
    await unavailable.close();
  });
});
