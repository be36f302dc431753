import type { MailKind } from '#contracts';
import type { MailTemplate } from './mail-template.types.js';

/** Which template of an application. */
export interface TemplatePlace {
  readonly appId: string;
  readonly kind: MailKind;
  /** As `canonicalLanguage` writes it. */
  readonly language: string;
}

/** That there is a template, and which one at this time. */
export interface RevisionRow {
  readonly kind: string;
  readonly language: string;
  readonly revision: string;
}

/** A template as it is stored. */
export interface TemplateRow extends MailTemplate {
  readonly revision: string;
}
