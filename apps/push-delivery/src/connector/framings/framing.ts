/** A command of a device in any framing. `i`: the number that the answer must carry. */
export type ClientCommand =
  | { readonly kind: 'heartbeat' }
  | { readonly kind: 'echo'; readonly i: number | undefined }
  | {
      readonly kind: 'login';
      readonly appId: string;
      readonly installationId: string;
      readonly i: number | undefined;
      /** Messages that the device has received, perhaps without acknowledging them. */
      readonly seen: readonly string[];
    }
  | { readonly kind: 'logout'; readonly i: number | undefined }
  | { readonly kind: 'ack'; readonly ids: readonly string[] }
  /** A command of live queries or instant messaging, or an unknown one. */
  | { readonly kind: 'unsupported'; readonly i: number | undefined };

export class MalformedFrame extends Error {
  override readonly name = 'MalformedFrame';
}

export interface Framing {
  readonly name: string;
  readonly isBinary: boolean;
  /** As `gatepost.push.v1` has: `gap` and `goaway`. */
  readonly hasGatepostExtensions: boolean;
  read(payload: Buffer): ClientCommand;
  /** @returns undefined if the framing or its clients do not support the frame */
  write(frame: ServerFrame): string | Uint8Array | undefined;
}

export interface DeliveredMessage {
  readonly id: string;
  readonly body: string;
  readonly bytes: number;
}

export type ServerFrame =
  | { readonly kind: 'heartbeat' }
  | { readonly kind: 'echo'; readonly i: number | undefined }
  | {
      readonly kind: 'loggedIn';
      readonly installationId: string;
      readonly i: number | undefined;
      readonly heartbeatSeconds: number;
    }
  | { readonly kind: 'loggedOut'; readonly i: number | undefined }
  | { readonly kind: 'data'; readonly messages: readonly DeliveredMessage[] }
  /** The number of dropped messages; the device acknowledges the id like that of a message. */
  | { readonly kind: 'gap'; readonly id: string; readonly dropped: number }
  | { readonly kind: 'goAway'; readonly retryAfterMs: number; readonly reason: string }
  | { readonly kind: 'error'; readonly code: number; readonly reason: string; readonly i: number | undefined };

type Fields = Readonly<Record<string, unknown>>;

/** Parses a command of either JSON framing. An empty object is a heartbeat; unknown commands are ignored. */
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

/** Bodies are JSON texts and are inserted unchanged. */
export function jsonDataFrame(messages: readonly DeliveredMessage[]): string {
  const ids = JSON.stringify(messages.map(({ id }) => id));
  return `{"cmd":"data","ids":${ids},"msg":[${messages.map(({ body }) => body).join(',')}]}`;
}

function parse(payload: Buffer): Fields {
  let value: unknown;
  try {
    value = JSON.parse(payload.toString());
  } catch {
    throw new MalformedFrame('the frame is not valid JSON');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new MalformedFrame('the frame is not a JSON object');
  return value as Fields;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === 'string') : [];
}
