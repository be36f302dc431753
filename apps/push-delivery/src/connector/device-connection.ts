import type { Duplex } from 'node:stream';
import { Logger } from '@nestjs/common';
import type { MessageRef } from '../device-queues/device-queues.js';
import type { DeviceSession } from './device-session.js';
import { type DeviceSocket, PING_FRAME, wireFrame } from './device-socket.js';
import { type Framing, MalformedFrame } from './framings/framing.js';
import { CLOSE, type Effect } from './session-effects.js';

/** Limit of the bytes that the device has not read. The window of messages is smaller. */
const MAX_UNREAD_BYTES = 262_144;

const logger = new Logger('DeviceConnection');

/** Carries out the effects that need more than the socket. */
export interface ConnectionHost {
  connect(connection: DeviceConnection): void;
  peek(connection: DeviceConnection): void;
  acknowledge(connection: DeviceConnection, refs: readonly MessageRef[], droppedReported: number): void;
  sent(frame: { readonly messages: number }): void;
  closed(connection: DeviceConnection, code: number): void;
}

interface ConnectionOptions {
  readonly session: DeviceSession;
  readonly framing: Framing;
  /** The client network that limits are counted by. */
  readonly network: string;
  readonly host: ConnectionHost;
}

/** Connects a socket with its session: passes frames to the session, and carries out its effects. */
export class DeviceConnection {
  readonly session: DeviceSession;
  readonly framing: Framing;
  readonly network: string;
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
      this.#failed(error);
    }
  }

  heard(): void {
    this.perform(this.session.heard(performance.now()));
  }

  /** The socket is closed. */
  ended(code: number): void {
    this.session.ended();
    this.#host.closed(this, code);
  }

  perform(effects: readonly Effect[]): void {
    for (const effect of effects) this.#do(effect);
  }

  /** Closes the socket without a handshake. */
  terminate(): void {
    this.socket.terminate();
  }

  /** An error of one connection must not end the process. */
  #failed(error: unknown): void {
    const isMalformed = error instanceof MalformedFrame;
    if (!isMalformed) logger.error(error);
    const code = isMalformed ? CLOSE.malformed : CLOSE.internal;
    this.perform(this.session.refuse(code, isMalformed ? error.message : 'Internal server error.'));
  }

  #do(effect: Effect): void {
    switch (effect.kind) {
      case 'send':
        this.#write(wireFrame(this.framing, effect.frame));
        if (effect.frame.kind === 'data') this.#host.sent({ messages: effect.frame.messages.length });
        return;
      case 'ping':
        this.#write(PING_FRAME);
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
        this.#host.acknowledge(this, effect.refs, effect.droppedReported);
    }
  }

  /** Writing past ws is safe for complete frames: ws also writes complete frames, without compression. */
  #write(frame: Buffer | undefined): void {
    if (frame === undefined || !this.stream.writable) return;
    this.stream.write(frame);
    if (this.stream.writableLength > MAX_UNREAD_BYTES) this.terminate();
  }
}
