import protobuf from 'protobufjs/light.js';

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
