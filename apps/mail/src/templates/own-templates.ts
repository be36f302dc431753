import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { RecentReads } from '#bootstrap';
import { CompiledTemplate } from './compiled-template.js';
import type { RevisionRow, TemplatePlace } from './template.row.js';
import { TemplatesRepository } from './templates.repository.js';

/** Characters of the sources whose compiled templates are kept. */
const MAX_CACHED_LENGTH = 33_554_432;

/** The templates of applications, ready to be rendered and at most a second old. */
@Injectable()
export class OwnTemplates {
  readonly #revisions = new RecentReads<readonly RevisionRow[]>((appId) => this.repository.listRevisions(appId));

  /** By revision: what is compiled once never changes. */
  readonly #compiled = new LRUCache<string, CompiledTemplate>({ maxSize: MAX_CACHED_LENGTH });

  constructor(private readonly repository: TemplatesRepository) {}

  /**
   * The languages in which the application has templates of its own for a kind of mail.
   * @throws AppError SERVICE_UNAVAILABLE where that cannot be read: that may not be taken for "none"
   */
  async languages({ appId, kind }: Omit<TemplatePlace, 'language'>): Promise<ReadonlySet<string>> {
    const rows = (await this.#revisions.get(appId)).filter((row) => row.kind === kind);
    return new Set(rows.map(({ language }) => language));
  }

  /**
   * @returns undefined where it has been removed since `languages` was asked
   * @throws TemplateProblem where what is stored does not compile, such as after a way back to an older version
   */
  async find(place: TemplatePlace): Promise<CompiledTemplate | undefined> {
    const rows = await this.#revisions.get(place.appId);
    const known = rows.find(({ kind, language }) => kind === place.kind && language === place.language);
    const cached = known === undefined ? undefined : this.#compiled.get(known.revision);
    return cached ?? (await this.compileStored(place));
  }

  /** Drops what is kept about an application in this process. */
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
