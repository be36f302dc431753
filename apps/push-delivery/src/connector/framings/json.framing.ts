import type { Framing } from './framing.js';
import { jsonDataFrame, readJsonCommand } from './json-commands.js';

/**
 * JSON texts, as leancloud-push speaks them. It listens for data alone, ends with an exception where a text is no JSON, and
 * sends its next heartbeat only after some answer.
 */
export const jsonFraming: Framing = {
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
