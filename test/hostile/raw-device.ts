import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import { openSocket, untilClosed } from './raw-conversation.js';

const CLOSE = 8;
const PING = 9;
const SHORT = 126;
const LONG = 127;
const FINAL = 0x80;
const MASKED = 0x80;
const ANSWERED_MS = 10_000;

/** The header of a frame, true or not. */
export interface FrameOptions {
  readonly opcode?: number;
  readonly isFinal?: boolean;
  readonly isMasked?: boolean;
  /** The length that it claims to have. */
  readonly length?: bigint;
  /** Bits of no negotiated extension. */
  readonly reserved?: number;
}

/** A WebSocket frame; by default a complete, masked text. */
export function frame(payload: string | Buffer, options: FrameOptions = {}): Buffer {
  const { opcode = 1, isFinal = true, isMasked = true, reserved = 0 } = options;
  const content = Buffer.from(payload as string);
  const mask = randomBytes(4);
  const head = Buffer.from([(isFinal ? FINAL : 0) | reserved | opcode]);
  const length = lengthOf(options.length ?? BigInt(content.length), isMasked);
  if (!isMasked) return Buffer.concat([head, length, content]);
  const masked = content.map((byte, index) => byte ^ (mask[index % mask.length] ?? 0));
  return Buffer.concat([head, length, mask, masked]);
}

/** The number of empty frames that must be answered. */
export function pings(count: number): Buffer[] {
  return Array.from({ length: count }, () => frame('', { opcode: PING }));
}

function lengthOf(length: bigint, isMasked: boolean): Buffer {
  const bit = isMasked ? MASKED : 0;
  if (length < SHORT) return Buffer.from([bit | Number(length)]);
  const bytes = Buffer.alloc(length > 0xffff ? 8 : 2);
  if (bytes.length === 2) bytes.writeUInt16BE(Number(length));
  else bytes.writeBigUInt64BE(length);
  return Buffer.concat([Buffer.from([bit | (bytes.length === 2 ? SHORT : LONG)]), bytes]);
}

/** The request that makes a connection a WebSocket. */
export function handshake(headers = '', line = 'GET /push HTTP/1.1'): string {
  const key = 'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n';
  return `${line}\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${key}${headers}\r\n`;
}

/** A device that sends bytes of its own making. */
export class RawDevice {
  #said = Buffer.alloc(0);

  private constructor(readonly socket: Socket) {
    socket.on('data', (chunk: Buffer) => (this.#said = Buffer.concat([this.#said, chunk])));
  }

  static async open(port: number, protocol?: string): Promise<RawDevice> {
    const device = new RawDevice(await openSocket(port));
    device.socket.write(handshake(protocol === undefined ? '' : `Sec-WebSocket-Protocol: ${protocol}\r\n`));
    return device;
  }

  send(frames: readonly Buffer[]): void {
    this.socket.write(Buffer.concat(frames));
  }

  /** Waits until the server has ended the connection. @returns the code that it gave; undefined where it gave none */
  async closeCode(timeoutMs = ANSWERED_MS): Promise<number | undefined> {
    const closing = untilClosed(this.socket, timeoutMs);
    const ending = () => {
      // The answer to a close, without which the server would wait for it.
      if (this.#code() !== undefined) this.socket.end();
    };
    this.socket.on('data', ending);
    ending();
    await closing.finally(() => this.socket.destroy());
    return this.#code();
  }

  #code(): number | undefined {
    const head = this.#said.indexOf('\r\n\r\n');
    for (let at = head + 4; head >= 0 && at + 2 <= this.#said.length;) {
      const [opcode, short] = [(this.#said[at] ?? 0) & 0x0f, this.#said[at + 1] ?? 0];
      const start = at + (short === SHORT ? 4 : 2);
      const length = short === SHORT ? this.#said.readUInt16BE(at + 2) : short;
      if (opcode === CLOSE && this.#said.length >= start + 2) return this.#said.readUInt16BE(start);
      at = start + length;
    }
    return undefined;
  }
}
