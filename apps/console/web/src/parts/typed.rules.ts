export type Json = Readonly<Record<string, unknown>>;

export function listOf(text: string): string[] {
  return text
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '');
}

/** @throws SyntaxError where the text is not a JSON object */
export function objectOf(text: string): Json {
  const value: unknown = JSON.parse(text);
  if (!isObject(value)) throw new SyntaxError('not a JSON object');
  return value;
}

/** No text is the empty object. @throws SyntaxError as `objectOf` */
export function optionalObjectOf(text: string): Json {
  return text.trim() === '' ? {} : objectOf(text);
}

export function orProblem<Value>(read: () => Value): { readonly value?: Value; readonly problem?: string } {
  try {
    return { value: read() };
  } catch (error) {
    return { problem: (error as Error).message };
  }
}

export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
