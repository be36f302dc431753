import { Injectable } from '@nestjs/common';
import {
  type ListedTemplate,
  MAIL_KINDS,
  type MailKind,
  type RpcData,
  type RpcReply,
  type ShownTemplate,
  type templatesRpc,
} from '#contracts';
import { appError } from '#errors';
import { MailDatabase } from '../mail.database.js';
import { BUILT_IN_TEMPLATES } from './built-in-templates.js';
import { CompiledTemplate, OwnTemplates, PARTS_WITH_LINK } from './compiled-template.js';
import { TemplateProblem } from './template-syntax.js';
import {
  canonicalLanguage,
  isSameLanguage,
  languagesToTry,
  type MailTemplate,
  type MailVariables,
  type RenderedMail,
} from './template.rules.js';
import { type TemplatePlace, TemplatesRepository } from './templates.repository.js';

interface MailToRender {
  readonly appId: string;
  readonly kind: MailKind;
  /** The languages of the reader, the best one first. */
  readonly languages: readonly string[];
  readonly variables: MailVariables;
}

/** The selected template: the application's own, or the built-in one of the language. */
interface ChosenTemplate {
  readonly place: TemplatePlace;
  readonly isOwn: boolean;
}

const COMPILED_BUILT_INS: ReadonlyMap<MailTemplate, CompiledTemplate> = new Map(
  MAIL_KINDS.flatMap((kind) => [...BUILT_IN_TEMPLATES[kind].values()]).map((template) => [
    template,
    CompiledTemplate.compile(template),
  ]),
);

const SAMPLE_PAGE = 'https://example.com/pages';

/** Renders mails from the templates of applications and the built-in ones. */
@Injectable()
export class TemplatesService {
  private readonly own: OwnTemplates;

  constructor(
    private readonly repository: TemplatesRepository,
    private readonly database: MailDatabase,
  ) {
    this.own = new OwnTemplates(repository);
  }

  /**
   * @throws AppError SERVICE_UNAVAILABLE if templates cannot be read, Error if the link is not an HTTP URL
   */
  async render({ appId, kind, languages, variables }: MailToRender): Promise<RenderedMail> {
    const { place, isOwn } = await this.choose({ appId, kind }, languages);
    const compiled = isOwn ? await this.own.find(place) : compiledBuiltIn(place);
    // The template was removed in the meantime: its replacement is available.
    if (compiled === undefined) return this.render({ appId, kind, languages, variables });
    return { ...compiled.render(variables), language: place.language };
  }

  async list(appId: string): Promise<ListedTemplate[]> {
    const rows = await this.repository.listRevisions(appId);
    const isOwn = (kind: MailKind, language: string) =>
      rows.some((row) => row.kind === kind && row.language === language);
    return MAIL_KINDS.flatMap((kind) => {
      const own = rows.filter((row) => row.kind === kind).map(({ language }) => language);
      const languages = new Set([...BUILT_IN_TEMPLATES[kind].keys(), ...own]);
      return [...languages].sort().map((language) => ({ kind, language, isOwn: isOwn(kind, language) }));
    });
  }

  /** The template that a reader of the language gets. */
  async get({ appId, kind, language }: TemplatePlace): Promise<ShownTemplate> {
    this.own.forget(appId);
    const { place, isOwn } = await this.choose({ appId, kind }, [language]);
    const stored = isOwn ? await this.repository.find(place) : builtIn(place);
    if (stored === undefined) return this.get({ appId, kind, language });
    const { subject, html, text } = stored;
    return { kind, language: place.language, isOwn, subject, html, text };
  }

  /** @throws AppError INCORRECT_TYPE: it names the part, the line and the reason */
  async set({ parts: given, ...wanted }: RpcData<typeof templatesRpc.set>): Promise<ShownTemplate> {
    const place = { ...wanted, language: canonicalLanguage(wanted.language) };
    const parts = withoutUndefined(given);
    const base = await this.get(place);
    if (!isSameLanguage(base.language, place.language)) assertComplete(parts, place);
    assertRenders({ ...base, ...parts });
    await this.database.transaction((tx) => this.repository.put(tx, place, parts, base));
    return this.get(place);
  }

  async preview({
    applicationName,
    ...place
  }: RpcData<typeof templatesRpc.preview>): Promise<RpcReply<typeof templatesRpc.preview>['mail']> {
    const { kind, language, isOwn, ...template } = await this.get(place);
    return { kind, language, isOwn, ...CompiledTemplate.compile(template).render(sampleFor(applicationName)) };
  }

  /** @throws AppError NOT_FOUND if the application has none of its own */
  async reset(wanted: TemplatePlace): Promise<void> {
    const place = { ...wanted, language: canonicalLanguage(wanted.language) };
    const isRemoved = await this.database.transaction((tx) => this.repository.remove(tx, place));
    this.own.forget(place.appId);
    if (!isRemoved)
      throw appError('NOT_FOUND', { message: `The application has no template of its own: ${describe(place)}.` });
  }

  private async choose(
    { appId, kind }: Omit<TemplatePlace, 'language'>,
    languages: readonly string[],
  ): Promise<ChosenTemplate> {
    const own = await this.own.languages({ appId, kind });
    const language = languagesToTry(languages).find((tag) => own.has(tag) || BUILT_IN_TEMPLATES[kind].has(tag)) ?? '';
    return { place: { appId, kind, language }, isOwn: own.has(language) };
  }
}

function builtIn({ kind, language }: TemplatePlace): MailTemplate {
  const template = BUILT_IN_TEMPLATES[kind].get(language);
  if (template === undefined) throw new Error(`there is no built-in template for ${kind} in "${language}"`);
  return template;
}

function compiledBuiltIn(place: TemplatePlace): CompiledTemplate | undefined {
  return COMPILED_BUILT_INS.get(builtIn(place));
}

/** @throws AppError INCORRECT_TYPE */
function assertRenders(template: MailTemplate): void {
  try {
    const mail = CompiledTemplate.compile(template).render(sampleFor('Example'));
    if (mail.subject === '') throw new TemplateProblem('subject', undefined, 'it is empty');
    const hiding = PARTS_WITH_LINK.find((part) => !mail[part].includes(SAMPLE_PAGE));
    if (hiding !== undefined)
      throw new TemplateProblem(hiding, undefined, 'it contains {{link}} only where it is never rendered');
  } catch (error) {
    throw error instanceof TemplateProblem ? appError('INCORRECT_TYPE', { message: error.message }) : error;
  }
}

/** A template in another language must not supply the missing parts. */
function assertComplete(parts: Partial<MailTemplate>, place: TemplatePlace): void {
  const missing = (['subject', 'html', 'text'] as const).filter((part) => parts[part] === undefined);
  if (missing.length === 0) return;
  const message = `There is no template for ${place.kind} in ${place.language} yet: ${missing.join(' and ')} must be given too.`;
  throw appError('INCORRECT_TYPE', { message });
}

function withoutUndefined(parts: RpcData<typeof templatesRpc.set>['parts']): Partial<MailTemplate> {
  return Object.fromEntries(Object.entries(parts).filter(([, source]) => source !== undefined));
}

function describe({ appId, kind, language }: TemplatePlace): string {
  return `${kind} in ${language} of application "${appId}"`;
}

function sampleFor(appname: string): MailVariables {
  return {
    appname,
    email: 'ada@example.com',
    username: 'ada',
    link: `${SAMPLE_PAGE}?token=sample`,
  };
}
