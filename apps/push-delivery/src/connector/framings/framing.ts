import protobuf from 'protobufjs/light.js';

/** What a device says, whatever its framing. `i`: the number under which it expects the answer. */
export type ClientCommand =
  | { readonly kind: 'heartbeat' }
  | { readonly kind: 'echo'; readonly i: number | undefined }
  | {
      readonly kind: 'login';
      readonly appId: string;
      readonly installationId: string;
      readonly i: number | undefined;
      /** Messages that the device has had, though perhaps nobody was told. */
      readonly seen: readonly string[];
    }
  | { readonly kind: 'logout'; readonly i: number | undefined }
  | { readonly kind: 'ack'; readonly ids: readonly string[] }
  /** Of live queries, instant messaging, or nothing that we know. */
  | { readonly kind: 'unsupported'; readonly i: number | undefined };

/** A frame that its framing cannot read. */
export class MalformedFrame extends Error {
  override readonly name = 'MalformedFrame';
}

/** One way of writing what devices and we say to each other. */
export interface Framing {
  /** As metrics call it. */
  readonly name: string;
  /** Whether its frames are binary ones. */
  readonly isBinary: boolean;
  /** Whether its devices know gaps, and when to come back: those of `gatepost.push.v1`. */
  readonly isOurs: boolean;
  /** @throws MalformedFrame */
  read(payload: Buffer): ClientCommand;
  /** @returns undefined where the framing, or its clients, have no use for it */
  write(frame: ServerFrame): string | Uint8Array | undefined;
}

/** A message for a device: its id, and the JSON text of the body for the device's platform. */
export interface DeliveredMessage {
  readonly id: string;
  readonly body: string;
  /** Of the body in UTF-8. */
  readonly bytes: number;
}

/** What we say to a device, whatever its framing. */
export type ServerFrame =
  | { readonly kind: 'heartbeat' }
  | { readonly kind: 'echo'; readonly i: number | undefined }
  | {
      readonly kind: 'loggedIn';
      readonly installationId: string;
      readonly i: number | undefined;
      /** Something comes at least so often. */
      readonly heartbeatSeconds: number;
    }
  | { readonly kind: 'loggedOut'; readonly i: number | undefined }
  | { readonly kind: 'data'; readonly messages: readonly DeliveredMessage[] }
  /** So many messages were dropped; it is acknowledged by its id, like a message. */
  | { readonly kind: 'gap'; readonly id: string; readonly dropped: number }
  | { readonly kind: 'goAway'; readonly retryAfterMs: number; readonly reason: string }
  | { readonly kind: 'error'; readonly code: number; readonly reason: string; readonly i: number | undefined };

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

/** `GenericCommand` as far as we know it. */
export interface GenericCommand {
  readonly cmd?: number;
  readonly appId?: string;
  readonly i?: number;
  readonly installationId?: string;
  readonly service?: number;
  readonly dataMessage?: { readonly ids: readonly string[]; readonly msg: readonly { readonly data: string }[] };
  readonly errorMessage?: { readonly code: number; readonly reason: string };
  readonly ackMessage?: { readonly ids?: readonly string[] };
  readonly loggedinMessage?: { readonly pushDisabled: boolean };
}

/** Numbers of `CommandType`. */
export const COMMANDS = { ack: 3, error: 7, login: 8, data: 9, echo: 14, loggedin: 15, logout: 16, loggedout: 17 };
/** Numbers of `service`. */
export const SERVICES = { push: 0, liveQuery: 1 };

const optional = (type: string, id: number) => ({ type, id });
const repeated = (type: string, id: number) => ({ rule: 'repeated', type, id });
const required = (type: string, id: number) => ({ rule: 'required', type, id });

/** proto2: what is set to its default is written too, since Android asks whether it is there. */
const message = (fields: Record<string, protobuf.IField>) => ({ edition: 'proto2', fields });

/** The fields that pushes need, by the numbers that the SDKs have. Others are skipped. */
const schema = protobuf.Root.fromJSON({
  nested: {
    JsonObjectMessage: message({ data: required('string', 1) }),
    DataCommand: message({ ids: repeated('string', 1), msg: repeated('JsonObjectMessage', 2) }),
    ErrorCommand: message({ code: required('int32', 1), reason: required('string', 2) }),
    AckCommand: message({ ids: repeated('string', 10) }),
    LoggedinCommand: message({ pushDisabled: optional('bool', 1) }),
    GenericCommand: message({
      cmd: optional('int32', 1),
      appId: optional('string', 3),
      i: optional('int32', 5),
      installationId: optional('string', 6),
      service: optional('int32', 8),
      dataMessage: optional('DataCommand', 101),
      errorMessage: optional('ErrorCommand', 103),
      ackMessage: optional('AckCommand', 105),
      loggedinMessage: optional('LoggedinCommand', 117),
    }),
  },
});
const type = schema.lookupType('GenericCommand');

/** @throws Error where the bytes are no such command */
export function decodeCommand(payload: Uint8Array): GenericCommand {
  // Only what is its own was on the wire.
  return { ...(type.decode(payload) as GenericCommand) };
}

export function encodeCommand(command: GenericCommand): Uint8Array {
  return type.encode(command).finish();
}
