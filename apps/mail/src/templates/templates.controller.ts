import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { Controller } from '@nestjs/common';
import { Clock } from '#bootstrap';
import { type RpcData, type RpcReply, type ShownTemplate, templatesRpc } from '#contracts';
import { type AppError, appError } from '#errors';
import { RpcHandler } from '#messaging';
import { DeliveriesService } from '../deliveries/deliveries.service.js';
import { MailDatabase } from '../mail.config.js';
import { assertRenders, CompiledTemplate, SAMPLE_USER, sampleFor } from './compiled-template.js';
import { canonicalLanguage, isSameLanguage, type MailTemplate } from './template.rules.js';
import { type TemplatePlace, TemplatesRepository } from './templates.repository.js';
import { TemplatesService } from './templates.service.js';

type Rpc = typeof templatesRpc;
type Data<Name extends keyof Rpc> = RpcData<Rpc[Name]>;
type Reply<Name extends keyof Rpc> = Promise<RpcReply<Rpc[Name]>>;

/** The pages of links say that a link with this token has expired. */
const TEST_TOKEN = 'test';
const TEST_LIFE_MS = 3_600_000;

@Controller()
export class TemplatesController {
  constructor(
    private readonly repository: TemplatesRepository,
    private readonly templates: TemplatesService,
    private readonly deliveries: DeliveriesService,
    private readonly database: MailDatabase,
    private readonly clock: Clock,
  ) {}

  @RpcHandler(templatesRpc.list)
  async list({ appId }: Data<'list'>): Reply<'list'> {
    return { templates: await this.templates.list(appId) };
  }

  @RpcHandler(templatesRpc.get)
  async get(place: Data<'get'>): Reply<'get'> {
    return { template: await this.templates.read(place) };
  }

  @RpcHandler(templatesRpc.set)
  async set({ parts: given, former, ...wanted }: Data<'set'>): Reply<'set'> {
    const place = { ...wanted, language: canonicalLanguage(wanted.language) };
    const parts = withoutUndefined(given);
    const base = await this.templates.read(place);
    if (!isSameLanguage(base.language, place.language)) assertComplete(parts, place);
    assertRenders({ ...base, ...parts });
    if (former === undefined) await this.repository.put(place, parts, base);
    else await this.#replace(place, parts, { ...former, base });
    return { template: await this.templates.read(place) };
  }

  @RpcHandler(templatesRpc.preview)
  async preview({ applicationName, parts, sample = {}, ...place }: Data<'preview'>): Reply<'preview'> {
    const { kind, language, isOwn, ...template } = await this.#withParts(place, parts);
    const rendered = CompiledTemplate.compile(template).render(sampleFor(applicationName, sample));
    return { mail: { kind, language, isOwn, ...rendered } };
  }

  @RpcHandler(templatesRpc.sendTest)
  async sendTest({ applicationName, parts, sample, to, ...place }: Data<'sendTest'>): Reply<'sendTest'> {
    const { kind, language, subject, html, text } = await this.#withParts(place, parts);
    const id = randomUUID();
    const username = sample?.username ?? SAMPLE_USER;
    const content = { kind, languages: [language], username, applicationName, token: TEST_TOKEN, pageUrl: null };
    await this.database.transaction((tx) =>
      this.deliveries.add(tx, {
        id,
        appId: place.appId,
        channel: 'mail',
        kind: 'test',
        recipient: to,
        userId: null,
        asOf: null,
        content: { ...content, template: { language, subject, html, text } },
        expiresAt: new Date(this.clock.now().getTime() + TEST_LIFE_MS),
      }),
    );
    return { id };
  }

  @RpcHandler(templatesRpc.reset)
  async reset({ former, ...wanted }: Data<'reset'>): Reply<'reset'> {
    const place = { ...wanted, language: canonicalLanguage(wanted.language) };
    const isRemoved = await this.repository.remove(place, former);
    this.templates.forget(place.appId);
    if (!isRemoved && former !== undefined) throw changedSince();
    if (!isRemoved)
      throw appError('NOT_FOUND', {
        message: `The application has no template of its own: ${place.kind} in ${place.language} of application "${place.appId}".`,
      });
    return {};
  }

  async #replace(
    place: TemplatePlace,
    parts: Partial<MailTemplate>,
    { base, ...former }: MailTemplate & { readonly base: ShownTemplate },
  ): Promise<void> {
    const { subject, html, text } = base;
    const isOwn = base.isOwn && base.language === place.language;
    const isRead = isDeepStrictEqual({ subject, html, text }, former);
    if (!isRead || !(await this.repository.replace(place, parts, { ...former, isOwn }))) throw changedSince();
  }

  async #withParts(place: TemplatePlace, given: Data<'preview'>['parts']): Promise<ShownTemplate> {
    const template = { ...(await this.templates.read(place)), ...withoutUndefined(given ?? {}) };
    if (given !== undefined) assertRenders(template);
    return template;
  }
}

function changedSince(): AppError {
  return appError('NO_EFFECT', { message: 'The template has changed since it was read: read it again.' });
}

/** A template in another language must not supply the missing parts. */
function assertComplete(parts: Partial<MailTemplate>, place: TemplatePlace): void {
  const missing = (['subject', 'html', 'text'] as const).filter((part) => parts[part] === undefined);
  if (missing.length === 0) return;
  const message = `There is no template for ${place.kind} in ${place.language} yet: ${missing.join(' and ')} must be given too.`;
  throw appError('INCORRECT_TYPE', { message });
}

function withoutUndefined(parts: Data<'set'>['parts']): Partial<MailTemplate> {
  return Object.fromEntries(Object.entries(parts).filter(([, source]) => source !== undefined));
}
