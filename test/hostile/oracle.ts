import type { ApiDescription } from '../journeys/suites/api-description.js';
import type { Fixtures } from './fixtures.js';
import type { HostileRequest } from './hostile-request.js';
import type { Answer } from './sender.js';

/** Internals of a program: stacks, files, statements, driver messages. */
const INSIDE =
  /node_modules|\/dist\/|\bat \S+ \(|\n\s+at |TypeError|RangeError|ReferenceError|SyntaxError|is not a function|Cannot read propert|typeorm|QueryFailed|SQLSTATE|syntax error at|violates|relation \\?"|invalid input syntax|ECONN|amqp/i;

/** Says what is wrong with the answer to an attacker; undefined where nothing is. */
export class Oracle {
  constructor(
    private readonly api: ApiDescription,
    private readonly fixtures: Fixtures,
  ) {}

  mistakeIn(request: HostileRequest, answer: Answer): string | undefined {
    const { status, text, headers } = answer;
    if (status >= 500) return `was answered ${status}: ${text.slice(0, 200)}`;
    const shown = `${JSON.stringify(headers)}${text}`;
    if (this.fixtures.canaries.some((canary) => shown.includes(canary)))
      return `shows what is another's: ${text.slice(0, 2_000)}`;
    if (text.includes('"polluted":') && !asksForPolluted(request))
      return `has a polluted answer: ${text.slice(0, 500)}`;
    if (status >= 400) return this.#mistakeInError(request, answer);
    return this.#mistakeInSuccess(request, answer);
  }

  #mistakeInError(request: HostileRequest, { status, text, headers }: Answer): string | undefined {
    if (INSIDE.test(text)) return `shows internals: ${text.slice(0, 500)}`;
    if (request.method === 'HEAD') return undefined;
    const type = String(headers['content-type']);
    if (type.startsWith('text/html')) return undefined;
    if (!type.startsWith('application/json')) return `is an error as ${type}: ${text.slice(0, 200)}`;
    const { code, error } = JSON.parse(text) as { code?: unknown; error?: unknown };
    if (typeof code !== 'number' || typeof error !== 'string') return `has no code or no text: ${text.slice(0, 200)}`;
    const operation = this.api.find(addressOf(request));
    const known = operation === undefined || isForm(request) ? this.#allAnswers : this.api.answersOf(operation);
    return known.includes(`${status}/${code}`)
      ? undefined
      : `has an answer that is not described: ${text.slice(0, 200)}`;
  }

  #mistakeInSuccess(request: HostileRequest, { status, text }: Answer): string | undefined {
    const address = addressOf(request);
    const operation = isForm(request) ? undefined : this.api.find(address);
    if (operation === undefined) return undefined;
    if (!this.api.answersOf(operation).includes(String(status))) return 'has a status that is not described';
    const mistake = this.api.mistakeOf(operation, { ...address, status, text });
    return mistake === undefined ? undefined : `is not as described: ${mistake}; ${text.slice(0, 500)}`;
  }

  get #allAnswers(): readonly string[] {
    return this.api.operations.flatMap((operation) => this.api.answersOf(operation));
  }
}

function addressOf({ method, target }: HostileRequest): { method: string; path: string } {
  return { method, path: target.split('?')[0] ?? '' };
}

/** A request whose body says what it asks for. */
function isForm({ headers }: HostileRequest): boolean {
  return /^text\/plain/i.test(headers['content-type'] ?? '');
}

/** A client that stores the word, and requests it, gets it back. */
function asksForPolluted({ target, body }: HostileRequest): boolean {
  return target.includes('polluted') || String(body).includes('polluted');
}
