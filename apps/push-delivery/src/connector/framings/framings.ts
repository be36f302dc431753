import protobuf from 'protobufjs/light.js';
import {
  type ClientCommand,
  type Framing,
  jsonDataFrame,
  MalformedFrame,
  readJsonCommand,
  type ServerFrame,
} from './framing.js';

/** The fields of `GenericCommand` that pushes use. */
interface GenericCommand {
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

const COMMANDS = { ack: 3, error: 7, login: 8, data: 9, echo: 14, loggedin: 15, logout: 16, loggedout: 17 };
const SERVICES = { push: 0, liveQuery: 1 };

const optional = (type: string, id: number) => ({ type, id });
const repeated = (type: string, id: number) => ({ rule: 'repeated', type, id });
const required = (type: string, id: number) => ({ rule: 'required', type, id });

/** proto2 also writes fields that have their default value: Android checks whether they are present. */
const message = (fields: Record<string, protobuf.IField>) => ({ edition: 'proto2', fields });

/** The fields that pushes use, with the numbers of the SDKs. Other fields are skipped. */
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

/** Binary frames of Android, of leancloud-realtime, and of other SDKs whose socket is not only for pushes. */
const protobufFraming: Framing = {
  name: 'protobuf',
  isBinary: true,
  hasGatepostExtensions: false,
  read: (payload) => commandOf(decode(payload)),
  write: (frame) => {
    const command = genericCommandOf(frame);
    return command && encodeCommand(command);
  },
};

const base64Framing: Framing = {
  name: 'base64',
  isBinary: false,
  hasGatepostExtensions: false,
  read: (payload) => commandOf(decode(Buffer.from(payload.toString('latin1'), 'base64'))),
  write: (frame) => {
    const command = genericCommandOf(frame);
    return command && Buffer.from(encodeCommand(command)).toString('base64');
  },
};

/** `gatepost.push.v1`: JSON with frames that the older framings lack (`docs/push.md`). */
const gatepostFraming: Framing = {
  name: 'gatepost',
  isBinary: false,
  hasGatepostExtensions: true,
  read: readJsonCommand,
  write: (frame) => {
    switch (frame.kind) {
      case 'heartbeat':
        return '{}';
      case 'loggedIn':
        // Devices with a wrong clock use the server's time to recognise expired messages.
        return JSON.stringify({ cmd: 'loggedin', heartbeatSeconds: frame.heartbeatSeconds, serverTime: Date.now() });
      case 'data':
        return jsonDataFrame(frame.messages);
      case 'gap':
        return JSON.stringify({ cmd: 'gap', id: frame.id, dropped: frame.dropped });
      case 'goAway':
        return JSON.stringify({ cmd: 'goaway', retryAfterMs: frame.retryAfterMs, reason: frame.reason });
      case 'error':
        return JSON.stringify({ cmd: 'error', code: frame.code, reason: frame.reason });
      case 'echo':
      case 'loggedOut':
        return undefined;
    }
  },
};

/** leancloud-push handles data frames only, throws on invalid JSON, and sends its next heartbeat only after an answer. */
const jsonFraming: Framing = {
  name: 'json',
  isBinary: false,
  hasGatepostExtensions: false,
  read: readJsonCommand,
  write: (frame) => {
    switch (frame.kind) {
      case 'heartbeat':
        return '{}';
      case 'loggedIn':
        return '{"cmd":"loggedin"}';
      case 'data':
        return jsonDataFrame(frame.messages);
      case 'echo':
      case 'loggedOut':
      case 'gap':
      case 'goAway':
      case 'error':
        return undefined;
    }
  },
};

const FRAMINGS: ReadonlyMap<string, Framing> = new Map([
  ['gatepost.push.v1', gatepostFraming],
  ['lc.protobuf2.3', protobufFraming],
  ['lc.protobuf2.1', protobufFraming],
  ['lc.proto2base64.3', base64Framing],
  ['lc.proto2base64.1', base64Framing],
]);

export const FRAMING_NAMES = [...new Set([jsonFraming, ...FRAMINGS.values()].map(({ name }) => name))];

/** Clients require its name in the response. */
export function chooseProtocol(offered: Iterable<string>): string | undefined {
  for (const name of offered) if (FRAMINGS.has(name)) return name;
  return undefined;
}

export function framingOf(protocol: string): Framing {
  return FRAMINGS.get(protocol) ?? jsonFraming;
}

export function decodeCommand(payload: Uint8Array): GenericCommand {
  // Own properties only: inherited ones are defaults that were not sent.
  return { ...(type.decode(payload) as GenericCommand) };
}

function encodeCommand(command: GenericCommand): Uint8Array {
  return type.encode(command).finish();
}

function decode(payload: Uint8Array): GenericCommand {
  try {
    return decodeCommand(payload);
  } catch {
    throw new MalformedFrame('the frame is not a GenericCommand');
  }
}

function commandOf(command: GenericCommand): ClientCommand {
  const { cmd, i, ackMessage } = command;
  switch (cmd) {
    case COMMANDS.login:
      return loginOf(command);
    case COMMANDS.ack:
      return { kind: 'ack', ids: ackMessage?.ids ?? [] };
    case COMMANDS.echo:
      return { kind: 'echo', i };
    case COMMANDS.logout:
      return { kind: 'logout', i };
    case undefined:
    default:
      return { kind: 'unsupported', i };
  }
}

/** The id in a login for live queries does not identify a device. */
function loginOf({ i, appId = '', installationId = '', service = SERVICES.push }: GenericCommand): ClientCommand {
  if (service !== SERVICES.push) return { kind: 'unsupported', i };
  return { kind: 'login', appId, installationId, i, seen: [] };
}

function genericCommandOf(frame: ServerFrame): GenericCommand | undefined {
  switch (frame.kind) {
    case 'echo':
      return numbered({ cmd: COMMANDS.echo }, frame.i);
    case 'loggedIn':
      return numbered(
        {
          cmd: COMMANDS.loggedin,
          installationId: frame.installationId,
          service: SERVICES.push,
          // `true` would stop Android from reconnecting.
          loggedinMessage: { pushDisabled: false },
        },
        frame.i,
      );
    case 'loggedOut':
      return numbered({ cmd: COMMANDS.loggedout }, frame.i);
    case 'data': {
      const { messages } = frame;
      const msg = messages.map(({ body }) => ({ data: body }));
      return { cmd: COMMANDS.data, service: SERVICES.push, dataMessage: { ids: messages.map(({ id }) => id), msg } };
    }
    case 'error': {
      // An error frame without a number would break the connection of leancloud-realtime.
      if (frame.i === undefined) return undefined;
      return { cmd: COMMANDS.error, i: frame.i, errorMessage: { code: frame.code, reason: frame.reason } };
    }
    case 'heartbeat':
    case 'gap':
    case 'goAway':
      return undefined;
  }
}

function numbered(command: GenericCommand, i: number | undefined): GenericCommand {
  return i === undefined ? command : { ...command, i };
}
