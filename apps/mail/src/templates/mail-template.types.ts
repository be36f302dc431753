/** The three parts of a mail: their sources in a template, their texts once it is rendered. */
export interface MailTemplate {
  readonly subject: string;
  readonly html: string;
  readonly text: string;
}

export type TemplatePart = keyof MailTemplate;

/** What stands in a mail of its own. The names are those of the service that applications come from. */
export interface MailVariables {
  readonly appname: string;
  readonly email: string;
  readonly username: string;
  readonly link: string;
}

export interface RenderedMail extends MailTemplate {
  /** Whose template it was. */
  readonly language: string;
}
