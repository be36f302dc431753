import { type Framing, jsonDataFrame, readJsonCommand } from './framing.js';
import { base64Framing, protobufFraming } from './protobuf.framing.js';

/** `gatepost.push.v1`: JSON with frames that the older framings lack (`docs/push.md`). */
const gatepostFraming: Framing = {
  name: 'gatepost',
  isBinary: false,
  isOurs: true,
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

/**
 * The JSON texts of leancloud-push. That client handles data frames only, throws an exception on invalid JSON, and sends its next
 * heartbeat only after an answer.
 */
const jsonFraming: Framing = {
  name: 'json',
  isBinary: false,
  isOurs: false,
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

/** By the sub-protocol of the client. */
const FRAMINGS: ReadonlyMap<string, Framing> = new Map([
  ['gatepost.push.v1', gatepostFraming],
  ['lc.protobuf2.3', protobufFraming],
  ['lc.protobuf2.1', protobufFraming],
  ['lc.proto2base64.3', base64Framing],
  ['lc.proto2base64.1', base64Framing],
]);

/** The names of framings in metrics. */
export const FRAMING_NAMES = [...new Set([jsonFraming, ...FRAMINGS.values()].map(({ name }) => name))];

/** The first supported sub-protocol of those offered. Clients require its name in the response. */
export function chooseProtocol(offered: Iterable<string>): string | undefined {
  for (const name of offered) if (FRAMINGS.has(name)) return name;
  return undefined;
}

/** The framing of a sub-protocol; JSON if there is no sub-protocol. */
export function framingOf(protocol: string): Framing {
  return FRAMINGS.get(protocol) ?? jsonFraming;
}
