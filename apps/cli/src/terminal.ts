/** Writes a line for the operator. */
export function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** A text that users have chosen, so that it cannot steer the terminal. */
export function quoted(text: string): string {
  return JSON.stringify(text).replaceAll(/\p{C}/gu, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return `\\u{${code.toString(16)}}`;
  });
}
