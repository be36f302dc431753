/** An answer that a client got in a test. */
export interface ObservedAnswer {
  /** The method that counts: of the text/plain form, the one in its body. */
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly status: number;
  /** The body as text. */
  readonly text: string;
}

/** Longer bodies are left out of what is kept. */
const MAX_TEXT_LENGTH = 20_000;

const answers = new Map<string, ObservedAnswer[]>();

/** Notes an answer of a server. */
export function observeAnswer(baseUrl: string, { text, ...answer }: ObservedAnswer): void {
  const all = answers.get(baseUrl) ?? [];
  answers.set(baseUrl, all);
  all.push({ ...answer, text: text.length > MAX_TEXT_LENGTH ? '' : text });
}

/** The answers that clients of this test file got from servers at these addresses. */
export function observedAnswers(baseUrls: readonly string[]): readonly ObservedAnswer[] {
  return baseUrls.flatMap((baseUrl) => answers.get(baseUrl) ?? []);
}
