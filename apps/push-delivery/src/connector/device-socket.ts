import { type RawData, WebSocket } from 'ws';
import type { DeliveredMessage, Framing, ServerFrame } from './framings/framing.js';

const FINAL_TEXT = 0x81;
const FINAL_BINARY = 0x82;
const LENGTH_IN_2_BYTES = 126;
const LENGTH_IN_8_BYTES = 127;
const MAX_SHORT_LENGTH = 125;
const MAX_2_BYTE_LENGTH = 0xffff;

/** A WebSocket's ping without a payload. */
export const PING_FRAME = Buffer.from([0x89, 0]);

/** A complete server frame (RFC 6455 §5.2) in one buffer, which can be written to any number of sockets. */
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

/** Receives the events of a socket. */
interface SocketListener {
  received(payload: Buffer): void;
  /** A ping or pong arrived. */
  heard(): void;
  /** The socket is closed. */
  ended(code: number): void;
}

/** A socket with a reference to its listener, so that all sockets share the event handlers: 100,000 closures would use much memory. */
export class DeviceSocket extends WebSocket {
  #listener: SocketListener | undefined;

  attach(listener: SocketListener): void {
    this.#listener = listener;
    this.on('message', DeviceSocket.#onMessage);
    this.on('ping', DeviceSocket.#onSign);
    this.on('pong', DeviceSocket.#onSign);
    this.on('error', DeviceSocket.#onError);
    this.on('close', DeviceSocket.#onClose);
  }

  static #onMessage(this: WebSocket, data: RawData): void {
    // Frames are small, so ws delivers each as one buffer.
    if (this instanceof DeviceSocket && Buffer.isBuffer(data)) this.#listener?.received(data);
  }

  static #onSign(this: WebSocket): void {
    if (this instanceof DeviceSocket) this.#listener?.heard();
  }

  static #onError(this: WebSocket): void {
    // ws closes the socket with the matching code.
  }

  static #onClose(this: WebSocket, code: number): void {
    if (this instanceof DeviceSocket) this.#listener?.ended(code);
  }
}

/** Frames of single messages, as long as the message is referenced. */
const shared = new WeakMap<DeliveredMessage, Map<Framing, Buffer>>();

/** The bytes of a frame. The frame of a message is built once for all devices. @returns undefined if the framing has no such frame */
export function wireFrame(framing: Framing, frame: ServerFrame): Buffer | undefined {
  if (frame.kind !== 'data' || frame.messages.length !== 1) return newFrame(framing, frame);
  const [message] = frame.messages;
  return message && sharedFrame(framing, message);
}

function sharedFrame(framing: Framing, message: DeliveredMessage): Buffer | undefined {
  const frames = shared.get(message) ?? new Map<Framing, Buffer>();
  const made = frames.get(framing) ?? newFrame(framing, { kind: 'data', messages: [message] });
  if (made !== undefined) shared.set(message, frames.set(framing, made));
  return made;
}

function newFrame(framing: Framing, frame: ServerFrame): Buffer | undefined {
  const payload = framing.write(frame);
  return payload === undefined ? undefined : webSocketFrame(payload, framing.isBinary);
}
