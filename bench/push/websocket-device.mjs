// A device of gatepost.push.v1 that does as little as can be: what is measured is the server.
import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';

const TEXT = 0x81;
const PING = 0x89;
const PONG = 0x8a;
const CLOSE = 0x88;
const END_OF_HEAD = '\r\n\r\n';
const SHORT = 126;

/** `hooks`: ready(), messages(ids), closed(). */
export function openWebSocketDevice({ port, appId, name, sendsAcks, localAddress }, hooks) {
  let isUpgraded = false;
  let rest = Buffer.alloc(0);
  const socket = connect({ port, host: '127.0.0.1', localAddress });
  socket.setNoDelay(true).on('error', () => undefined);
  socket.once('close', hooks.closed);
  socket.once('connect', () => socket.write(upgradeRequest()));
  socket.on('data', (chunk) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    if (!isUpgraded) {
      const end = rest.indexOf(END_OF_HEAD);
      if (end < 0) return;
      if (!rest.subarray(0, end).includes('101 Switching')) socket.destroy();
      rest = rest.subarray(end + END_OF_HEAD.length);
      isUpgraded = true;
      send(JSON.stringify({ cmd: 'login', appId, installationId: name, seen: [] }));
    }
    const ids = [];
    for (let frame = frameIn(rest); frame !== undefined; frame = frameIn(rest)) {
      rest = rest.subarray(frame.end);
      hear(frame, ids);
    }
    if (ids.length === 0) return;
    // Messages that arrive together are acknowledged together, as push-client does.
    if (sendsAcks) send(`{"cmd":"ack","ids":${JSON.stringify(ids)}}`);
    hooks.messages(ids);
  });

  function hear({ kind, payload }, ids) {
    if (kind === PING) write(PONG, payload);
    else if (kind === CLOSE) socket.end();
    else if (kind === TEXT) read(payload.toString('latin1'), ids);
  }

  function read(text, ids) {
    if (text.startsWith('{"cmd":"data"')) {
      const from = text.indexOf('[');
      ids.push(...JSON.parse(text.slice(from, text.indexOf(']', from) + 1)));
    } else if (text.startsWith('{"cmd":"loggedin"')) hooks.ready();
  }

  const send = (text) => write(TEXT, Buffer.from(text));
  const write = (kind, payload) => socket.write(maskedFrame(kind, payload));
  return { close: () => socket.destroy() };
}

function upgradeRequest() {
  return [
    'GET /push HTTP/1.1',
    'Host: 127.0.0.1',
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    `Sec-WebSocket-Key: ${randomBytes(16).toString('base64')}`,
    'Sec-WebSocket-Protocol: gatepost.push.v1',
    '\r\n',
  ].join('\r\n');
}

/** Whole frames of less than 64 kB are all that a server sends here. */
function frameIn(bytes) {
  if (bytes.length < 2) return undefined;
  const isShort = bytes[1] < SHORT;
  if (!isShort && bytes.length < 4) return undefined;
  const start = isShort ? 2 : 4;
  const end = start + (isShort ? bytes[1] : bytes.readUInt16BE(2));
  return bytes.length < end ? undefined : { kind: bytes[0], payload: bytes.subarray(start, end), end };
}

/** Masked with zeros, which cost nothing. */
function maskedFrame(kind, payload) {
  const isShort = payload.length < SHORT;
  const head = Buffer.alloc(isShort ? 6 : 8);
  head[0] = kind;
  head[1] = 0x80 | (isShort ? payload.length : SHORT);
  if (!isShort) head.writeUInt16BE(payload.length, 2);
  return Buffer.concat([head, payload]);
}
