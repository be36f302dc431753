import { WebSocket } from 'ws';
import { eventually } from '#testing';

type Frame = Readonly<Record<string, unknown>>;

export interface TestDeviceOptions {
  /** The sub-protocols that it offers. Default: `gatepost.push.v1`. */
  readonly protocols?: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether it acknowledges messages. Default: true. */
  readonly acknowledges?: boolean;
}

/** A device that uses JSON and records the frames that it receives. */
export class TestDevice {
  readonly frames: Frame[] = [];
  /** Ids of messages in the order in which they came, repeated ones included. */
  readonly ids: string[] = [];
  readonly bodies: unknown[] = [];
  pings = 0;
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>;

  private constructor(
    private readonly socket: WebSocket,
    { acknowledges = true }: TestDeviceOptions,
  ) {
    socket.on('error', () => undefined);
    socket.on('ping', () => (this.pings += 1));
    socket.on('message', (data: Buffer) => {
      this.#hear(JSON.parse(data.toString()) as Frame, acknowledges);
    });
    this.closed = new Promise((resolve) => {
      socket.once('close', (code, reason) => {
        resolve({ code, reason: reason.toString() });
      });
    });
  }

  static async open(url: string, options: TestDeviceOptions): Promise<TestDevice> {
    const socket = new WebSocket(url, [...(options.protocols ?? ['gatepost.push.v1'])], {
      headers: { ...options.headers },
    });
    const device = new TestDevice(socket, options);
    await new Promise((resolve, reject) => {
      socket.once('open', resolve);
      socket.once('error', reject);
    });
    return device;
  }

  say(frame: Frame): void {
    this.socket.send(JSON.stringify(frame));
  }

  /** Sends a raw payload. */
  sendRaw(payload: string | Buffer): void {
    this.socket.send(payload);
  }

  acknowledge(ids: readonly string[]): void {
    this.say({ cmd: 'ack', ids });
  }

  untilTold(cmd: string): Promise<Frame> {
    return eventually(() => {
      const frame = this.frames.find((each) => each['cmd'] === cmd);
      if (frame === undefined) throw new Error(`no ${cmd} among ${JSON.stringify(this.frames)}`);
      return frame;
    });
  }

  /** Waits for this number of messages, and returns all ids. */
  untilReceived(count: number): Promise<string[]> {
    return eventually(() => {
      if (this.ids.length < count) throw new Error(`${this.ids.length} messages of ${count}`);
      return this.ids;
    });
  }

  /** Waits for the answer to a heartbeat: all earlier frames have then arrived too. */
  async roundTrip(): Promise<void> {
    const before = this.#heartbeats();
    this.say({});
    await eventually(() => {
      if (this.#heartbeats() <= before) throw new Error('no heartbeat');
    });
  }

  /** Stops reading, like a device that hangs. */
  pause(): void {
    this.socket.pause();
  }

  resume(): void {
    this.socket.resume();
  }

  close(): void {
    this.socket.close();
  }

  terminate(): void {
    this.socket.terminate();
  }

  #heartbeats(): number {
    return this.frames.filter((frame) => Object.keys(frame).length === 0).length;
  }

  #hear(frame: Frame, acknowledges: boolean): void {
    this.frames.push(frame);
    if (frame['cmd'] !== 'data') return;
    const ids = frame['ids'] as string[];
    this.ids.push(...ids);
    this.bodies.push(...(frame['msg'] as unknown[]));
    if (acknowledges) this.acknowledge(ids);
  }
}
