import Handlebars from 'handlebars';
import { appError } from '#errors';
import {
  inSubject,
  type MailTemplate,
  type MailVariables,
  safeVariables,
  type TemplatePart,
} from './template.rules.js';

const VARIABLES: readonly string[] = ['appname', 'email', 'username', 'link'];
/** Helpers that create a scope, in which only `this` and `../` work. */
const SCOPES: readonly string[] = ['with', 'each'];
const HELPERS: readonly string[] = ['if', 'unless', ...SCOPES];

/** These limits bound the cost of compilation and, with the lengths of the variables, the size of the result. */
const MAX_TAGS = 500;
const MAX_BYTES: Readonly<Record<TemplatePart, number>> = { subject: 2_000, html: 262_144, text: 262_144 };

export class TemplateProblem extends Error {
  constructor(part: TemplatePart, line: number | undefined, reason: string) {
    super(line === undefined ? `${part}: ${reason}` : `${part}, line ${line}: ${reason}`);
  }
}

class TemplateReader {
  readonly used = new Set<string>();

  constructor(private readonly part: TemplatePart) {}

  readProgram(program: hbs.AST.Program | undefined, isInScope: boolean): void {
    for (const statement of program?.body ?? []) this.#readStatement(statement, isInScope);
  }

  #readStatement(statement: hbs.AST.Statement, isInScope: boolean): void {
    switch (statement.type) {
      case 'ContentStatement':
      case 'CommentStatement':
        return;
      case 'MustacheStatement':
        this.#readMustache(statement as hbs.AST.MustacheStatement, isInScope);
        return;
      case 'BlockStatement':
        this.#readBlock(statement as hbs.AST.BlockStatement, isInScope);
        return;
      default:
        throw this.#problem(statement, 'partials and decorators cannot be used');
    }
  }

  #readMustache(statement: hbs.AST.MustacheStatement, isInScope: boolean): void {
    if (statement.params.length > 0 || hasHash(statement))
      throw this.#problem(statement, `only ${HELPERS.join(', ')} can be used as helpers, as in {{#if email}}`);
    if (!statement.escaped && this.part === 'html')
      throw this.#problem(statement, 'three braces and & skip HTML escaping: use two braces');
    this.#readValue(statement.path, isInScope);
  }

  #readBlock(block: hbs.AST.BlockStatement, isInScope: boolean): void {
    const helper = HELPERS.find((name) => name === block.path.original);
    if (helper === undefined)
      throw this.#problem(block, `there is no helper "${block.path.original}", only ${HELPERS.join(', ')}`);
    const [value, ...others] = block.params;
    if (value === undefined || others.length > 0 || hasHash(block) || hasBlockParams(block))
      throw this.#problem(block, `${helper} takes one variable, as in {{#${helper} email}}`);
    const isScope = SCOPES.includes(helper);
    if (isScope && isInScope) throw this.#problem(block, `${SCOPES.join(' and ')} cannot be nested`);
    this.#readValue(value, isInScope);
    this.readProgram(block.program, isScope || isInScope);
    this.readProgram(block.inverse, isInScope);
  }

  #readValue(value: hbs.AST.Expression, isInScope: boolean): void {
    if (!isPath(value)) throw this.#problem(value, `only variables are allowed here: ${VARIABLES.join(', ')}`);
    if (isInScope && isThis(value)) return;
    const name = VARIABLES.find((variable) => value.parts.length === 1 && variable === value.parts[0]);
    if (name === undefined || value.data)
      throw this.#problem(value, `there is no variable "${value.original}", only ${VARIABLES.join(', ')}`);
    // Inside a scope, `this` is the text of its variable, and the variables are one level up.
    if (value.depth !== (isInScope ? 1 : 0))
      throw this.#problem(value, `"${value.original}" is not in this block: write ${isInScope ? '../' : ''}${name}`);
    this.used.add(name);
  }

  #problem({ loc }: hbs.AST.Node, reason: string): TemplateProblem {
    return new TemplateProblem(this.part, loc.start.line, reason);
  }
}

/** Far above the built-in templates; mail servers reject larger mails anyway. */
const MAX_RENDERED_LENGTH = 1_048_576;

const PARTS_WITH_LINK: readonly TemplatePart[] = ['html', 'text'];

type Render = (variables: MailVariables) => string;

export class CompiledTemplate {
  private constructor(private readonly parts: Readonly<Record<TemplatePart, Render>>) {}

  static compile({ subject, html, text }: MailTemplate): CompiledTemplate {
    return new CompiledTemplate({
      subject: compilePart('subject', subject),
      html: compilePart('html', html),
      text: compilePart('text', text),
    });
  }

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

/** Template files can end lines in CR or CR CR LF: in a mail, LF must follow each CR (RFC 5321, 2.3.8). */
function bounded(part: TemplatePart, rendered: string): string {
  if (rendered.length <= MAX_RENDERED_LENGTH) return rendered.replaceAll(/\r\r\n|\r\n?/g, '\n');
  throw new TemplateProblem(part, undefined, `it renders to more than ${MAX_RENDERED_LENGTH} characters`);
}

const SAMPLE_PAGE = 'https://example.com/pages';

export const SAMPLE_USER = 'ada';

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

/** Only our variables and four helpers, in every branch: no template fails later. @returns the used variables. @throws TemplateProblem */
export function variablesIn(part: TemplatePart, source: string): ReadonlySet<string> {
  if (Buffer.byteLength(source) > MAX_BYTES[part])
    throw new TemplateProblem(part, undefined, `it is longer than ${MAX_BYTES[part]} bytes`);
  if (source.split('{{').length - 1 > MAX_TAGS)
    throw new TemplateProblem(part, undefined, `it has more than ${MAX_TAGS} tags ({{)`);
  const reader = new TemplateReader(part);
  reader.readProgram(parse(part, source), false);
  return reader.used;
}

function parse(part: TemplatePart, source: string): hbs.AST.Program {
  try {
    return Handlebars.parse(source);
  } catch (error) {
    const { message, lineNumber } = error as Error & { lineNumber?: number };
    const line = lineNumber ?? Number(/on line (\d+)/.exec(message)?.[1] ?? 1);
    // The lines in between repeat the source.
    const reason = message.split('\n').at(-1) ?? message;
    throw new TemplateProblem(
      part,
      line,
      `it is not a valid Handlebars template: ${reason.replace(/ - \d+:\d+$/, '')}`,
    );
  }
}

function hasHash({ hash }: { hash: hbs.AST.Hash | undefined }): boolean {
  return hash !== undefined;
}

function hasBlockParams({ program }: { program: Partial<hbs.AST.Program> | undefined }): boolean {
  return (program?.blockParams?.length ?? 0) > 0;
}

function isPath(value: hbs.AST.Expression): value is hbs.AST.PathExpression {
  return value.type === 'PathExpression';
}

function isThis({ data, depth, parts }: hbs.AST.PathExpression): boolean {
  return !data && depth === 0 && parts.length === 0;
}
