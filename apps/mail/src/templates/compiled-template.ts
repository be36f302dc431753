import Handlebars from 'handlebars';
import type { MailTemplate, MailVariables, TemplatePart } from './mail-template.types.js';
import { inSubject, safeVariables } from './mail-text.rules.js';
import { TemplateProblem, variablesIn } from './template-syntax.js';

/** No template of ours comes near it; one that does would be a mail that no server takes. */
const MAX_RENDERED_LENGTH = 1_048_576;

/** A mail without its link would be of no use. */
export const PARTS_WITH_LINK: readonly TemplatePart[] = ['html', 'text'];

type Render = (variables: MailVariables) => string;

/** A template that was found to be one, ready to be rendered. */
export class CompiledTemplate {
  private constructor(private readonly parts: Readonly<Record<TemplatePart, Render>>) {}

  /** @throws TemplateProblem where it is none */
  static compile({ subject, html, text }: MailTemplate): CompiledTemplate {
    return new CompiledTemplate({
      subject: compilePart('subject', subject),
      html: compilePart('html', html),
      text: compilePart('text', text),
    });
  }

  /** @throws Error where the link is none, or the mail would be larger than any may be */
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
    throw new TemplateProblem(part, undefined, 'it must have {{link}}: without it the mail is of no use');
  return Handlebars.compile<MailVariables>(source, {
    strict: true,
    knownHelpersOnly: true,
    noEscape: part !== 'html',
  });
}

function bounded(part: TemplatePart, rendered: string): string {
  if (rendered.length <= MAX_RENDERED_LENGTH) return rendered;
  throw new TemplateProblem(part, undefined, `it becomes longer than ${MAX_RENDERED_LENGTH} characters`);
}
