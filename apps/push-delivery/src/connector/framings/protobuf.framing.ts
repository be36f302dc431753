import {
  type ClientCommand,
  COMMANDS,
  decodeCommand,
  encodeCommand,
  type Framing,
  type GenericCommand,
  MalformedFrame,
  type ServerFrame,
  SERVICES,
} from './framing.js';

/** Binary frames of Android, of leancloud-realtime, and of other SDKs whose socket is not only for pushes. */
export const protobufFraming: Framing = {
  name: 'protobuf',
  isBinary: true,
  isOurs: false,
  read: (payload) => commandOf(decode(payload)),
  write: (frame) => {
    const command = genericCommandOf(frame);
    return command && encodeCommand(command);
  },
};

/** The same frames as base64 texts. */
export const base64Framing: Framing = {
  name: 'base64',
  isBinary: false,
  isOurs: false,
  read: (payload) => commandOf(decode(Buffer.from(payload.toString('latin1'), 'base64'))),
  write: (frame) => {
    const command = genericCommandOf(frame);
    return command && Buffer.from(encodeCommand(command)).toString('base64');
  },
};

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
