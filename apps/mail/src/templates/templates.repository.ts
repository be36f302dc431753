import { Injectable } from '@nestjs/common';
import type { MailKind } from '#contracts';
import type { Tx } from '#database';
import { MailDatabase } from '../mail.database.js';
import type { MailTemplate } from './template.rules.js';

/** Identifies a template of an application. */
export interface TemplatePlace {
  readonly appId: string;
  readonly kind: MailKind;
  /** As `canonicalLanguage` writes it. */
  readonly language: string;
}

/** The current revision of a template. */
export interface RevisionRow {
  readonly kind: string;
  readonly language: string;
  readonly revision: string;
}

interface TemplateRow extends MailTemplate {
  readonly revision: string;
}

@Injectable()
export class TemplatesRepository {
  constructor(private readonly database: MailDatabase) {}

  listRevisions(appId: string): Promise<RevisionRow[]> {
    return this.database.query<RevisionRow>(
      'SELECT kind, language, revision FROM mail.templates WHERE app_id = $1 ORDER BY kind, language',
      [appId],
      'list_template_revisions',
    );
  }

  async find({ appId, kind, language }: TemplatePlace): Promise<TemplateRow | undefined> {
    const [row] = await this.database.query<TemplateRow>(
      'SELECT subject, html, text, revision FROM mail.templates WHERE app_id = $1 AND kind = $2 AND language = $3',
      [appId, kind, language],
    );
    return row;
  }

  /**
   * Changes the given parts. Concurrent changes of different parts are both kept.
   * @param base the other parts, if the template does not exist yet
   */
  async put(
    tx: Tx,
    { appId, kind, language }: TemplatePlace,
    parts: Partial<MailTemplate>,
    base: MailTemplate,
  ): Promise<void> {
    const whole = { ...base, ...parts };
    await tx.query(
      `INSERT INTO mail.templates AS t (app_id, kind, language, subject, html, text)
       VALUES ($1, $2, $3, $4, $5, $6)
       ON CONFLICT ON CONSTRAINT templates_pkey DO UPDATE
          SET subject = COALESCE($7, t.subject), html = COALESCE($8, t.html), text = COALESCE($9, t.text),
              revision = gen_random_uuid(), updated_at = now()`,
      [appId, kind, language, whole.subject, whole.html, whole.text, parts.subject, parts.html, parts.text],
    );
  }

  /** @returns whether a template was removed */
  async remove(tx: Tx, { appId, kind, language }: TemplatePlace): Promise<boolean> {
    const removed = await tx.query(
      'DELETE FROM mail.templates WHERE app_id = $1 AND kind = $2 AND language = $3 RETURNING language',
      [appId, kind, language],
    );
    return removed.length > 0;
  }
}
