import Handlebars from 'handlebars';
import { appError } from '#errors';
import { TemplateProblem, variablesIn } from './template-syntax.js';
import {
  inSubject,
  type MailTemplate,
  type MailVariables,
  safeVariables,
  type TemplatePart,
} from './template.rules.js';

/** Far above the built-in templates; mail servers reject larger mails anyway. */
const MAX_RENDERED_LENGTH = 1_048_576;

/** The parts that must contain the link. */
const PARTS_WITH_LINK: readonly TemplatePart[] = ['html', 'text'];

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

const SAMPLE_PAGE = 'https://example.com/pages';

/** The name of the fictitious user. */
export const SAMPLE_USER = 'ada';

/** The fictitious user of a preview, as far as the caller gives it. */
interface SampleUser {
  readonly email?: string | undefined;
  readonly username?: string | undefined;
}

export function sampleFor(appname: string, given: SampleUser = {}): MailVariables {
  return {
    appname,
    email: given.email ?? 'ada@example.com',
    username: given.username ?? SAMPLE_USER,
    link: `${SAMPLE_PAGE}?token=sample`,
  };
}

/** @throws AppError INCORRECT_TYPE */
export function assertRenders(template: MailTemplate): void {
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
