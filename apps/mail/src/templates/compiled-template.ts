import Handlebars from 'handlebars';
import { LRUCache } from 'lru-cache';
import { TtlCache } from '#bootstrap';
import { TemplateProblem, variablesIn } from './template-syntax.js';
import {
  inSubject,
  type MailTemplate,
  type MailVariables,
  safeVariables,
  type TemplatePart,
} from './template.rules.js';
import type { RevisionRow, TemplatePlace, TemplatesRepository } from './templates.repository.js';

/** Far above the built-in templates; mail servers reject larger mails anyway. */
const MAX_RENDERED_LENGTH = 1_048_576;

/** The parts that must contain the link. */
export const PARTS_WITH_LINK: readonly TemplatePart[] = ['html', 'text'];

type Render = (variables: MailVariables) => string;

/** A valid template, ready to render. */
export class CompiledTemplate {
  private constructor(private readonly parts: Readonly<Record<TemplatePart, Render>>) {}

  /** @throws TemplateProblem if the template is invalid */
  static compile({ subject, html, text }: MailTemplate): CompiledTemplate {
    return new CompiledTemplate({
      subject: compilePart('subject', subject),
      html: compilePart('html', html),
      text: compilePart('text', text),
    });
  }

  /** @throws Error if the link is not an HTTP URL or the rendered mail is too large */
  render(variables: MailVariables): MailTemplate {
    const safe = safeVariables(variables);
    return {
      subject: inSubject(this.parts.subject(safe)),
      html: bounded('html', this.parts.html(safe)),
      text: bounded('text', this.parts.text(safe)),
    };
  }
}

function compilePart(part: TemplatePart, source: string): Render {
  const used = variablesIn(part, source);
  if (PARTS_WITH_LINK.includes(part) && !used.has('link'))
    throw new TemplateProblem(part, undefined, 'it must contain {{link}}');
  return Handlebars.compile<MailVariables>(source, {
    strict: true,
    knownHelpersOnly: true,
    noEscape: part !== 'html',
  });
}

function bounded(part: TemplatePart, rendered: string): string {
  if (rendered.length <= MAX_RENDERED_LENGTH) return rendered;
  throw new TemplateProblem(part, undefined, `it renders to more than ${MAX_RENDERED_LENGTH} characters`);
}

/** The cache is limited by the characters of the template sources. */
const MAX_CACHED_LENGTH = 33_554_432;

/** Compiled templates of applications, at most one second old. */
export class OwnTemplates {
  readonly #revisions = new TtlCache<readonly RevisionRow[]>((appId) => this.repository.listRevisions(appId));

  /** By revision: the source of a revision never changes. */
  readonly #compiled = new LRUCache<string, CompiledTemplate>({ maxSize: MAX_CACHED_LENGTH });

  constructor(private readonly repository: TemplatesRepository) {}

  /**
   * The languages in which the application has templates of its own for a kind of mail.
   * @throws AppError SERVICE_UNAVAILABLE if they cannot be read. This must not be treated as "none".
   */
  async languages({ appId, kind }: Omit<TemplatePlace, 'language'>): Promise<ReadonlySet<string>> {
    const rows = (await this.#revisions.get(appId)).filter((row) => row.kind === kind);
    return new Set(rows.map(({ language }) => language));
  }

  /**
   * @returns undefined if it was removed after the call of `languages`
   * @throws TemplateProblem if the stored source does not compile, such as after a downgrade
   */
  async find(place: TemplatePlace): Promise<CompiledTemplate | undefined> {
    const rows = await this.#revisions.get(place.appId);
    const known = rows.find(({ kind, language }) => kind === place.kind && language === place.language);
    const cached = known === undefined ? undefined : this.#compiled.get(known.revision);
    return cached ?? (await this.compileStored(place));
  }

  /** Drops the cached revisions of an application in this process. */
  forget(appId: string): void {
    this.#revisions.forget(appId);
  }

  private async compileStored(place: TemplatePlace): Promise<CompiledTemplate | undefined> {
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
