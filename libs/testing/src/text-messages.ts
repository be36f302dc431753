import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ApiReply } from './api-client.js';
import { eventually } from './eventually.js';
import type { GatepostServer } from './gatepost-server.js';

/** A text message as mail has written it. */
export interface SentMessage {
  readonly id: string;
  readonly to: string;
  readonly text: string;
  readonly code: string;
  readonly [field: string]: unknown;
}

/** By the paths of their files, which are written once. */
const read = new Map<string, SentMessage>();

/** The messages that mail has written for a number so far, in no order. */
export function sentMessages({ env }: Pick<GatepostServer, 'env'>, to: string): SentMessage[] {
  const folder = join(env['GATEPOST_DATA_DIR'] ?? '', 'outbox', 'sms');
  const files = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.json')) : [];
  return files.map((name) => messageIn(join(folder, name))).filter((message) => message.to === to);
}

/** The code that a request sends to a number. @throws Error where the request is refused, or no message comes */
export async function codeSentBy(
  server: Pick<GatepostServer, 'env'>,
  to: string,
  request: () => Promise<Pick<ApiReply, 'status' | 'body'>>,
): Promise<string> {
  const before = new Set(sentMessages(server, to).map(({ id }) => id));
  const { status, body } = await request();
  if (status !== 200) throw new Error(`the request for a code was answered ${status}: ${JSON.stringify(body)}`);
  return eventually(() => {
    const message = sentMessages(server, to).find(({ id }) => !before.has(id));
    if (message === undefined) throw new Error(`no message to ${to}`);
    return message.code;
  });
}

function messageIn(file: string): SentMessage {
  const message = read.get(file) ?? (JSON.parse(readFileSync(file, 'utf8')) as SentMessage);
  read.set(file, message);
  return message;
}
