import type { Framing } from './framing.js';
import { jsonDataFrame, readJsonCommand } from './json-commands.js';

/** `gatepost.push.v1`: JSON with what the older framings lack (its frames: `docs/push.md`). */
export const gatepostFraming: Framing = {
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
