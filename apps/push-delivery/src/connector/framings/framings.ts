import { type Framing, jsonDataFrame, readJsonCommand } from './framing.js';
import { base64Framing, protobufFraming } from './protobuf.framing.js';

/** `gatepost.push.v1`: JSON with what the older framings lack (its frames: `docs/push.md`). */
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
        // Devices whose clock is wrong judge by ours what has expired.
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
 * JSON texts, as leancloud-push speaks them. It listens for data alone, ends with an exception where a text is no JSON, and
 * sends its next heartbeat only after some answer.
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

/** By the sub-protocol that a client offers. */
const FRAMINGS: ReadonlyMap<string, Framing> = new Map([
  ['gatepost.push.v1', gatepostFraming],
  ['lc.protobuf2.3', protobufFraming],
  ['lc.protobuf2.1', protobufFraming],
  ['lc.proto2base64.3', base64Framing],
  ['lc.proto2base64.1', base64Framing],
]);

/** What framings are called in metrics. */
export const FRAMING_NAMES = [...new Set([jsonFraming, ...FRAMINGS.values()].map(({ name }) => name))];

/** The first offered sub-protocol that we speak. Clients insist on hearing its name again. */
export function chooseProtocol(offered: Iterable<string>): string | undefined {
  for (const name of offered) if (FRAMINGS.has(name)) return name;
  return undefined;
}

/** The framing of a sub-protocol; JSON where there is none. */
export function framingOf(protocol: string): Framing {
  return FRAMINGS.get(protocol) ?? jsonFraming;
}
