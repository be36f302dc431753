import type { Duplex } from 'node:stream';
import { Logger } from '@nestjs/common';
import { type RawData, WebSocket } from 'ws';
import type { MessageRef } from '../device-queues/device-queues.js';
import type { DeviceSession } from './device-session.js';
import { type DeliveredMessage, type Framing, MalformedFrame, type ServerFrame } from './framings/framing.js';
import { CLOSE, type Effect } from './session-effects.js';

const FINAL_TEXT = 0x81;
const FINAL_BINARY = 0x82;
const LENGTH_IN_2_BYTES = 126;
const LENGTH_IN_8_BYTES = 127;
const MAX_SHORT_LENGTH = 125;
const MAX_2_BYTE_LENGTH = 0xffff;

const PING_FRAME = Buffer.from([0x89, 0]);

interface SocketListener {
  received(payload: Buffer): void;
  onActivity(): void;
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
    if (this instanceof DeviceSocket) this.#listener?.onActivity();
  }

  static #onError(this: WebSocket): void {
    // ws closes the socket with the matching code.
  }

  static #onClose(this: WebSocket, code: number): void {
    if (this instanceof DeviceSocket) this.#listener?.ended(code);
  }
}

/** Limit of the bytes that the device has not read. The window of messages is smaller. */
const MAX_UNREAD_BYTES = 262_144;

const logger = new Logger('DeviceConnection');

export interface ConnectionHost {
  connect(connection: DeviceConnection): void;
  peek(connection: DeviceConnection): void;
  acknowledge(connection: DeviceConnection, refs: readonly MessageRef[], reportedUpTo: number): void;
  sent(frame: { readonly messages: number }): void;
  closed(connection: DeviceConnection, code: number): void;
}

interface ConnectionOptions {
  readonly session: DeviceSession;
  readonly framing: Framing;
  readonly network: string;
  readonly host: ConnectionHost;
}

export class DeviceConnection {
  readonly session: DeviceSession;
  readonly framing: Framing;
  readonly network: string;
  /** The part of the store that holds the device's queue; known from the login on. */
  shard = 0;
  readonly #host: ConnectionHost;

  constructor(
    private readonly socket: DeviceSocket,
    private readonly stream: Duplex,
    { session, framing, network, host }: ConnectionOptions,
  ) {
    this.session = session;
    this.framing = framing;
    this.network = network;
    this.#host = host;
    socket.attach(this);
  }

  received(payload: Buffer): void {
    if (!this.session.isListening) return;
    const nowMs = performance.now();
    try {
      this.perform(this.session.receive(this.framing.read(payload), nowMs));
    } catch (error) {
      this.failed(error);
    }
  }

  onActivity(): void {
    this.perform(this.session.onActivity(performance.now()));
  }

  ended(code: number): void {
    this.session.ended();
    this.#host.closed(this, code);
  }

  perform(effects: readonly Effect[]): void {
    const frames: Buffer[] = [];
    for (const effect of effects) {
      const frame = this.#frameOf(effect);
      if (frame === undefined) this.#write(frames.splice(0));
      else frames.push(frame);
      this.#do(effect);
    }
    this.#write(frames);
  }

  /** Frames until the next turn of the event loop share a write. */
  gatherFrames(): void {
    this.stream.cork();
    setImmediate(() => {
      this.stream.uncork();
    });
  }

  terminate(): void {
    this.socket.terminate();
  }

  /** An error of one connection must not end the process. */
  failed(error: unknown): void {
    const isMalformed = error instanceof MalformedFrame;
    if (!isMalformed) logger.error(error);
    const code = isMalformed ? CLOSE.malformed : CLOSE.internal;
    this.perform(this.session.refuse(code, isMalformed ? error.message : 'Internal server error.'));
  }

  #do(effect: Effect): void {
    switch (effect.kind) {
      case 'send':
        if (effect.frame.kind === 'data') this.#host.sent({ messages: effect.frame.messages.length });
        return;
      case 'ping':
        return;
      case 'close':
        this.socket.close(effect.code, effect.reason);
        return;
      case 'terminate':
        this.terminate();
        return;
      case 'connect':
        this.#host.connect(this);
        return;
      case 'peek':
        this.#host.peek(this);
        return;
      case 'acknowledge':
        this.#host.acknowledge(this, effect.refs, effect.reportedUpTo);
    }
  }

  #frameOf(effect: Effect): Buffer | undefined {
    if (effect.kind === 'ping') return PING_FRAME;
    return effect.kind === 'send' ? wireFrame(this.framing, effect.frame) : undefined;
  }

  /** Writing past ws is safe for complete frames: ws also writes complete frames, without compression. */
  #write(frames: readonly Buffer[]): void {
    const [first] = frames;
    if (first === undefined || !this.stream.writable) return;
    this.stream.write(frames.length === 1 ? first : Buffer.concat(frames));
    if (this.stream.writableLength > MAX_UNREAD_BYTES) this.terminate();
  }
}

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

/** Frames of single messages, as long as the message is referenced. */
const framesOfOne = new WeakMap<DeliveredMessage, Map<Framing, Buffer>>();
/** The latest frame of several messages, at most a window of them: the devices that get the same ones often follow each other. */
const latestFrames = new Map<Framing, { readonly messages: readonly DeliveredMessage[]; readonly frame: Buffer }>();

/** The bytes of a frame. Devices that get the same messages share them. @returns undefined if the framing has no such frame */
function wireFrame(framing: Framing, frame: ServerFrame): Buffer | undefined {
  if (frame.kind !== 'data') return newFrame(framing, frame);
  const [first] = frame.messages;
  return frame.messages.length === 1 && first ? frameOfOne(framing, first) : frameOfSeveral(framing, frame.messages);
}

function frameOfOne(framing: Framing, message: DeliveredMessage): Buffer | undefined {
  const frames = framesOfOne.get(message) ?? new Map<Framing, Buffer>();
  const made = frames.get(framing) ?? newFrame(framing, { kind: 'data', messages: [message] });
  if (made !== undefined) framesOfOne.set(message, frames.set(framing, made));
  return made;
}

function frameOfSeveral(framing: Framing, messages: readonly DeliveredMessage[]): Buffer | undefined {
  const latest = latestFrames.get(framing);
  const isSame =
    latest?.messages.length === messages.length && messages.every((one, at) => one === latest.messages[at]);
  if (isSame) return latest.frame;
  const frame = newFrame(framing, { kind: 'data', messages });
  if (frame !== undefined) latestFrames.set(framing, { messages, frame });
  return frame;
}

function newFrame(framing: Framing, frame: ServerFrame): Buffer | undefined {
  const payload = framing.write(frame);
  return payload === undefined ? undefined : webSocketFrame(payload, framing.isBinary);
}
