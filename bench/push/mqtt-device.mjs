// A subscriber of MQTT 3.1.1 that does as little as the device of gatepost.push.v1: what is measured is the server.
import { connect } from 'node:net';

export const TOPIC_OF_ALL = 'all';
/** Payloads begin with the message's id. */
export const ID_LENGTH = 24;

const CONNACK = 0x20;
const PUBLISH = 0x30;
const SUBACK = 0x90;
const PROTOCOL_LEVEL = 4;
const CLEAN_SESSION = 0x02;

/** Subscribes to the topic of all and to one of its own name. `keepsSession`: the server keeps what comes while it is away. */
export function openMqttDevice({ port, name, sendsAcks, keepsSession }, hooks) {
  const qos = sendsAcks ? 1 : 0;
  let rest = Buffer.alloc(0);
  const socket = connect(port, '127.0.0.1');
  socket.setNoDelay(true).on('error', () => undefined);
  socket.once('close', hooks.closed);
  socket.once('connect', () => socket.write(connectPacket(name, keepsSession)));
  socket.on('data', (chunk) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const ids = [];
    const acks = [];
    for (let packet = packetIn(rest); packet !== undefined; packet = packetIn(rest)) {
      rest = rest.subarray(packet.end);
      hear(packet, ids, acks);
    }
    if (acks.length > 0) socket.write(Buffer.concat(acks));
    if (ids.length > 0) hooks.messages(ids);
  });

  function hear({ kind, flags, body }, ids, acks) {
    if (kind === CONNACK) {
      // A session that the server has kept has its subscriptions.
      if (body[0] === 1) hooks.ready();
      else socket.write(subscribePacket([TOPIC_OF_ALL, name], qos));
    } else if (kind === SUBACK) hooks.ready();
    else if (kind === PUBLISH) {
      let at = 2 + body.readUInt16BE(0);
      if ((flags & 0x06) !== 0) {
        acks.push(Buffer.from([0x40, 2, body[at], body[at + 1]]));
        at += 2;
      }
      ids.push(body.toString('latin1', at, at + ID_LENGTH));
    }
  }

  return { close: () => socket.destroy() };
}

function connectPacket(name, keepsSession) {
  const flags = keepsSession ? 0 : CLEAN_SESSION;
  return packet(0x10, Buffer.concat([text('MQTT'), Buffer.from([PROTOCOL_LEVEL, flags, 0, 0]), text(name)]));
}

function subscribePacket(topics, qos) {
  const wanted = topics.flatMap((topic) => [text(topic), Buffer.from([qos])]);
  return packet(0x82, Buffer.concat([Buffer.from([0, 1]), ...wanted]));
}

function text(value) {
  const bytes = Buffer.from(value);
  return Buffer.concat([Buffer.from([bytes.length >> 8, bytes.length & 0xff]), bytes]);
}

function packet(kind, body) {
  return Buffer.concat([Buffer.from(body.length < 128 ? [kind, body.length] : lengthInTwo(kind, body)), body]);
}

function lengthInTwo(kind, { length }) {
  return [kind, (length % 128) | 0x80, length >> 7];
}

/** Packets of less than 16 kB, whose length takes two bytes at most, are all that a server sends here. */
function packetIn(bytes) {
  if (bytes.length < 2 || (bytes[1] > 127 && bytes.length < 3)) return undefined;
  const start = bytes[1] > 127 ? 3 : 2;
  const length = bytes[1] > 127 ? (bytes[1] & 0x7f) + bytes[2] * 128 : bytes[1];
  const end = start + length;
  if (bytes.length < end) return undefined;
  return { kind: bytes[0] & 0xf0, flags: bytes[0] & 0x0f, body: bytes.subarray(start, end), end };
}
