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

/** The fields that pushes need, by the numbers that the SDKs have. Others are skipped. */
const schema = protobuf.Root.fromJSON({
  nested: {
    JsonObjectMessage: { fields: { data: required('string', 1) } },
    DataCommand: { fields: { ids: repeated('string', 1), msg: repeated('JsonObjectMessage', 2) } },
    ErrorCommand: { fields: { code: required('int32', 1), reason: required('string', 2) } },
    AckCommand: { fields: { ids: repeated('string', 10) } },
    LoggedinCommand: { fields: { pushDisabled: optional('bool', 1) } },
    GenericCommand: {
      fields: {
        cmd: optional('int32', 1),
        appId: optional('string', 3),
        i: optional('int32', 5),
        installationId: optional('string', 6),
        service: optional('int32', 8),
        dataMessage: optional('DataCommand', 101),
        errorMessage: optional('ErrorCommand', 103),
        ackMessage: optional('AckCommand', 105),
        loggedinMessage: optional('LoggedinCommand', 117),
      },
    },
  },
});
const type = schema.lookupType('GenericCommand');

/** @throws Error where the bytes are no such command */
export function decodeCommand(payload: Uint8Array): GenericCommand {
  const { ackMessage, ...fields } = type.decode(payload) as GenericCommand;
  return ackMessage === undefined ? fields : { ...fields, ackMessage };
}

export function encodeCommand(command: GenericCommand): Uint8Array {
  return type.encode(command).finish();
}
