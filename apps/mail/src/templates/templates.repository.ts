import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Column, Entity, Generated, PrimaryColumn, type Repository } from 'typeorm';
import type { MailKind } from '#contracts';
import { TimeColumn } from '#database';
import { MailDatabase } from '../mail.config.js';
import type { MailTemplate } from './template.rules.js';

@Entity('templates')
export class TemplateEntity {
  @PrimaryColumn('text')
  appId!: string;

  @PrimaryColumn('text')
  kind!: string;

  @PrimaryColumn('text')
  language!: string;

  @Column('text')
  subject!: string;

  @Column('text')
  html!: string;

  @Column('text')
  text!: string;

  @Column('uuid')
  @Generated('uuid')
  revision!: string;

  @TimeColumn({ default: () => 'now()' })
  updatedAt!: Date;
}

export interface TemplatePlace {
  readonly appId: string;
  readonly kind: MailKind;
  /** As `canonicalLanguage` writes it. */
  readonly language: string;
}

export interface RevisionRow {
  readonly kind: string;
  readonly language: string;
  readonly revision: string;
}

interface TemplateRow extends MailTemplate {
  readonly revision: string;
}

/** A template as an operator has read it. `isOwn`: it is stored at this place. */
interface ReadTemplate extends MailTemplate {
  readonly isOwn: boolean;
}

@Injectable()
export class TemplatesRepository {
  constructor(
    @InjectRepository(TemplateEntity, 'mail') private readonly templates: Repository<TemplateEntity>,
    private readonly database: MailDatabase,
  ) {}

  listRevisions(appId: string): Promise<RevisionRow[]> {
    return this.templates.find({
      select: { kind: true, language: true, revision: true },
      where: { appId },
      order: { kind: 'ASC', language: 'ASC' },
    });
  }

  async find({ appId, kind, language }: TemplatePlace): Promise<TemplateRow | undefined> {
    return (await this.templates.findOneBy({ appId, kind, language })) ?? undefined;
  }

  /** Concurrent changes of different parts are both kept. @param base the other parts, if the template does not exist yet */
  async put({ appId, kind, language }: TemplatePlace, parts: Partial<MailTemplate>, base: MailTemplate): Promise<void> {
    const whole = { ...base, ...parts };
    await this.database.query(
      `INSERT INTO mail.templates AS t (app_id, kind, language, subject, html, text)
       VALUES ($1, $2, $3, $4, $5, $6)
       ON CONFLICT ON CONSTRAINT templates_pkey DO UPDATE
          SET subject = COALESCE($7, t.subject), html = COALESCE($8, t.html), text = COALESCE($9, t.text),
              revision = gen_random_uuid(), updated_at = now()`,
      [appId, kind, language, whole.subject, whole.html, whole.text, parts.subject, parts.html, parts.text],
    );
  }

  /** Writes a template that an operator has read, as `put`. @returns false where another one is stored by now */
  async replace(
    place: TemplatePlace,
    parts: Partial<MailTemplate>,
    { isOwn, ...read }: ReadTemplate,
  ): Promise<boolean> {
    if (isOwn) {
      const change = { ...parts, revision: () => 'gen_random_uuid()', updatedAt: () => 'now()' };
      return (await this.templates.update({ ...place, ...read }, change)).affected === 1;
    }
    const insert = this.templates
      .createQueryBuilder()
      .insert()
      .values({ ...place, ...read, ...parts });
    const inserted = await insert.orIgnore().returning('language').updateEntity(false).execute();
    return (inserted.raw as unknown[]).length === 1;
  }

  /** @returns whether a template was removed: the one with these sources, where they are given */
  async remove({ appId, kind, language }: TemplatePlace, former: Partial<MailTemplate> = {}): Promise<boolean> {
    const { affected } = await this.templates.delete({ appId, kind, language, ...former });
    return affected === 1;
  }
}
