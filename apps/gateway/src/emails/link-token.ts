/** As long as a token may be on its way to accounts. */
const MAX_TOKEN_LENGTH = 1_024;

/** The token of a mailed link as a request brings it. What cannot be one becomes the empty text, which accounts knows as expired. */
export function linkTokenOf(value: unknown): string {
  return typeof value === 'string' && value.length <= MAX_TOKEN_LENGTH ? value : '';
}
