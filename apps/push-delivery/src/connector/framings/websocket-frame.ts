const FINAL_TEXT = 0x81;
const FINAL_BINARY = 0x82;
const LENGTH_IN_2_BYTES = 126;
const LENGTH_IN_8_BYTES = 127;
const MAX_SHORT_LENGTH = 125;
const MAX_2_BYTE_LENGTH = 0xffff;

/** A WebSocket's ping without a payload. */
export const PING_FRAME = Buffer.from([0x89, 0]);

/** A whole frame in one buffer, as a server sends it (RFC 6455 §5.2): made once, written to any number of sockets. */
export function webSocketFrame(payload: string | Uint8Array, isBinary: boolean): Buffer {
  const length = Buffer.byteLength(payload);
  const header = headerLength(length);
  const frame = Buffer.allocUnsafe(header + length);
  frame[0] = isBinary ? FINAL_BINARY : FINAL_TEXT;
  if (length <= MAX_SHORT_LENGTH) frame[1] = length;
  else if (length <= MAX_2_BYTE_LENGTH) {
    frame[1] = LENGTH_IN_2_BYTES;
    frame.writeUInt16BE(length, 2);
  } else {
    frame[1] = LENGTH_IN_8_BYTES;
    frame.writeUInt32BE(0, 2);
    frame.writeUInt32BE(length, 6);
  }
  if (typeof payload === 'string') frame.write(payload, header);
  else frame.set(payload, header);
  return frame;
}

function headerLength(length: number): number {
  if (length <= MAX_SHORT_LENGTH) return 2;
  return length <= MAX_2_BYTE_LENGTH ? 4 : 10;
}
