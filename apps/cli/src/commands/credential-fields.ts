import { StartError } from '#bootstrap';
import type { CredentialField } from '#contracts';
import { type ReadSource, sourceOf, valueFrom, withoutLastBreak } from '../terminal.js';

const MIN_COLUMN_WIDTH = 12;

export interface CredentialKind {
  readonly name: string;
  readonly fields: readonly CredentialField[];
}

/**
 * Reads `field=value`, `field=@path` and `field=-`. No message repeats an argument: it may contain a misplaced secret.
 * @throws StartError for an unknown field, and for a secret given as a plain argument
 */
export function credentialFields(
  kind: CredentialKind,
  args: readonly string[],
  read?: ReadSource,
): Record<string, string> {
  const known = new Map(kind.fields.map((field) => [field.name, field]));
  const fields = new Map<string, string>();
  for (const [index, argument] of args.entries()) {
    const [name = '', value = ''] = argument.split(/=(.*)/s, 2);
    const field = known.get(name);
    if (field === undefined || !argument.includes('=')) throw new StartError(notAField(kind, index));
    if (fields.has(name)) throw new StartError(`${name} is given twice.`);
    const source = sourceOf(value);
    if (source === undefined && field.isSecret) throw new StartError(plainSecret(name));
    fields.set(name, source === undefined ? value : withoutLastBreak(valueFrom(name, source, read)));
  }
  return Object.fromEntries(fields);
}

export function usageOf(fields: readonly CredentialField[]): string {
  return fields
    .map(({ name, isSecret, isRequired }) => {
      const usage = isSecret ? `${name}=@FILE` : `${name}=VALUE`;
      return isRequired ? usage : `[${usage}]`;
    })
    .join(' ');
}

/** Reads a secret from `@path` or `-`. @throws StartError where it is given as a plain argument */
export function secretFrom(name: string, argument: string, read?: ReadSource): string {
  const source = sourceOf(argument);
  if (source === undefined) throw new StartError(plainSecret(name, ' '));
  return withoutLastBreak(valueFrom(name, source, read));
}

function notAField(kind: CredentialKind, index: number): string {
  return `Field ${index + 1} is not a field of ${kind.name}. Its fields: ${usageOf(kind.fields)}`;
}

function plainSecret(name: string, joint = '='): string {
  return `${name} is a secret, and all users of this machine can read arguments. Put it into a file and write ${name}${joint}@path/to/file, or write ${name}${joint}- and pass it on standard input.`;
}

export function describeKinds(kinds: readonly CredentialKind[]): string {
  const kindWidth = widthFor(kinds.map(({ name }) => name));
  const nameWidth = widthFor(kinds.flatMap(({ fields }) => fields.map(({ name }) => name)));
  return kinds
    .flatMap(({ name: kind, fields }) =>
      fields.map(({ name, isSecret, isRequired, description }, index) => {
        const marks = [isSecret ? 'secret' : '', isRequired ? '' : 'optional'].filter((mark) => mark !== '').join(', ');
        const words = [marks === '' ? '' : `(${marks})`, description ?? ''].filter((word) => word !== '').join(' ');
        return `  ${(index === 0 ? kind : '').padEnd(kindWidth)}${name.padEnd(nameWidth)}${words}`.trimEnd();
      }),
    )
    .join('\n');
}

/** One field per line, without the values of secrets. */
export function shownFields(shown: Readonly<Record<string, string>>, secrets: readonly string[]): string[] {
  const width = widthFor([...Object.keys(shown), ...secrets]);
  return [
    ...Object.entries(shown).map(([name, value]) => `  ${name.padEnd(width)}${value}`),
    ...secrets.map((name) => `  ${name.padEnd(width)}(secret)`),
  ];
}

function widthFor(names: readonly string[]): number {
  return Math.max(MIN_COLUMN_WIDTH, ...names.map((name) => name.length + 1));
}
