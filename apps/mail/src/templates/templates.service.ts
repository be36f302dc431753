import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { TtlCache } from '#bootstrap';
import { MAIL_KINDS, type MailKind, type ShownTemplate } from '#contracts';
import { BUILT_IN_TEMPLATES } from './built-in-templates.js';
import { CompiledTemplate } from './compiled-template.js';
import { languagesToTry, type MailTemplate, type MailVariables, type RenderedMail } from './template.rules.js';
import { type RevisionRow, type TemplatePlace, TemplatesRepository } from './templates.repository.js';

interface MailToRender {
  readonly appId: string;
  readonly kind: MailKind;
  /** The best one first. */
  readonly languages: readonly string[];
  readonly variables: MailVariables;
}

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

/** The cache is limited by the characters of the template sources. */
const MAX_CACHED_LENGTH = 33_554_432;

/** Renders mails from the templates of applications, at most one second old, and the built-in ones. */
@Injectable()
export class TemplatesService {
  readonly #revisions = new TtlCache<readonly RevisionRow[]>((appId) => this.repository.listRevisions(appId));

  /** By revision: the source of a revision never changes. */
  readonly #compiled = new LRUCache<string, CompiledTemplate>({ maxSize: MAX_CACHED_LENGTH });

  constructor(private readonly repository: TemplatesRepository) {}

  /** @throws AppError SERVICE_UNAVAILABLE if templates cannot be read, Error if the link is not an HTTP URL */
  async render({ appId, kind, languages, variables }: MailToRender): Promise<RenderedMail> {
    const { place, isOwn } = await this.choose({ appId, kind }, languages);
    const compiled = isOwn ? await this.#find(place) : compiledBuiltIn(place);
    // The template was removed in the meantime: its replacement is available.
    if (compiled === undefined) return this.render({ appId, kind, languages, variables });
    return { ...compiled.render(variables), language: place.language };
  }

  /** The template that a reader of the languages gets, the best language first. */
  async choose(
    { appId, kind }: Omit<TemplatePlace, 'language'>,
    languages: readonly string[],
  ): Promise<ChosenTemplate> {
    const own = await this.#languages({ appId, kind });
    const language = languagesToTry(languages).find((tag) => own.has(tag) || BUILT_IN_TEMPLATES[kind].has(tag)) ?? '';
    return { place: { appId, kind, language }, isOwn: own.has(language) };
  }

  /** The template that a reader of the language gets, as it is stored now. */
  async read({ appId, kind, language }: TemplatePlace): Promise<ShownTemplate> {
    this.forget(appId);
    const { place, isOwn } = await this.choose({ appId, kind }, [language]);
    const stored = isOwn ? await this.repository.find(place) : builtIn(place);
    if (stored === undefined) return this.read({ appId, kind, language });
    const { subject, html, text } = stored;
    return { kind, language: place.language, isOwn, subject, html, text };
  }

  async list(appId: string): Promise<Pick<ShownTemplate, 'kind' | 'language' | 'isOwn'>[]> {
    const rows = await this.repository.listRevisions(appId);
    return MAIL_KINDS.flatMap((kind) => {
      const own = new Set(rows.filter((row) => row.kind === kind).map(({ language }) => language));
      const languages = new Set([...BUILT_IN_TEMPLATES[kind].keys(), ...own]);
      return [...languages].sort().map((language) => ({ kind, language, isOwn: own.has(language) }));
    });
  }

  forget(appId: string): void {
    this.#revisions.forget(appId);
  }

  /** Those of the application. @throws AppError SERVICE_UNAVAILABLE if they cannot be read: this must not be treated as "none" */
  async #languages({ appId, kind }: Omit<TemplatePlace, 'language'>): Promise<ReadonlySet<string>> {
    const rows = (await this.#revisions.get(appId)).filter((row) => row.kind === kind);
    return new Set(rows.map(({ language }) => language));
  }

  /** @returns undefined if it has been removed since. @throws TemplateProblem if the source does not compile, such as after a downgrade */
  async #find(place: TemplatePlace): Promise<CompiledTemplate | undefined> {
    const rows = await this.#revisions.get(place.appId);
    const known = rows.find(({ kind, language }) => kind === place.kind && language === place.language);
    const cached = known === undefined ? undefined : this.#compiled.get(known.revision);
    return cached ?? (await this.#compileStored(place));
  }

  async #compileStored(place: TemplatePlace): Promise<CompiledTemplate | undefined> {
    const row = await this.repository.find(place);
    if (row === undefined) {
      this.forget(place.appId);
      return undefined;
    }
    const compiled = CompiledTemplate.compile(row);
    this.#compiled.set(row.revision, compiled, { size: row.subject.length + row.html.length + row.text.length });
    return compiled;
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
