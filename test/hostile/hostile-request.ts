/** A request of an attacker. `$NAMES` in it stand for what the run's world has: see Fixtures. */
export interface HostileRequest {
  readonly method: string;
  /** As it stands in the request line, with the query. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Buffer | undefined;
  /** The owner of its credentials. */
  readonly as: string;
}

/** The request as a line for a shell: what one sends by hand to see the same. */
export function curlLine({ method, target, headers, body }: HostileRequest): string {
  const shown = Object.entries(headers).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`);
  const data = typeof body === 'string' ? `--data-binary ${quoted(body)}` : bytesOf(body);
  return ['curl --path-as-is', `-X ${method}`, quoted(`$SERVER${target}`), ...shown, data].filter(Boolean).join(' ');
}

function bytesOf(body: Buffer | undefined): string {
  return body === undefined ? '' : `--data-binary @<(echo ${body.toString('base64')} | base64 -d)`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
