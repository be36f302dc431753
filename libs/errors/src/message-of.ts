/** The text of whatever was thrown, for logs and operators: it may name what clients must not see. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
