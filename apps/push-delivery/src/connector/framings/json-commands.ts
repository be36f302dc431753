import { type ClientCommand, MalformedFrame } from './client-command.js';
import type { DeliveredMessage } from './server-frame.js';

type Fields = Readonly<Record<string, unknown>>;

/** Reads a command of either JSON framing. An empty object is a heartbeat, and what nobody knows is let pass. */
export function readJsonCommand(payload: Buffer): ClientCommand {
  const fields = parse(payload);
  switch (fields['cmd']) {
    case undefined:
      return { kind: 'heartbeat' };
    case 'login':
      return {
        kind: 'login',
        appId: textOf(fields['appId']),
        installationId: textOf(fields['installationId']),
        i: undefined,
        seen: textsOf(fields['seen']),
      };
    case 'ack':
      return { kind: 'ack', ids: textsOf(fields['ids']) };
    default:
      return { kind: 'unsupported', i: undefined };
  }
}

/** Bodies are JSON already: they go in as they are. */
export function jsonDataFrame(messages: readonly DeliveredMessage[]): string {
  const ids = JSON.stringify(messages.map(({ id }) => id));
  return `{"cmd":"data","ids":${ids},"msg":[${messages.map(({ body }) => body).join(',')}]}`;
}

function parse(payload: Buffer): Fields {
  let value: unknown;
  try {
    value = JSON.parse(payload.toString());
  } catch {
    throw new MalformedFrame('the frame is no JSON');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new MalformedFrame('the frame is no JSON object');
  return value as Fields;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === 'string') : [];
}
