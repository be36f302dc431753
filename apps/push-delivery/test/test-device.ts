import { WebSocket } from 'ws';
import { eventually } from '#testing';

type Frame = Readonly<Record<string, unknown>>;

export interface TestDeviceOptions {
  /** The sub-protocols that it offers; ours unless given. */
  readonly protocols?: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether it acknowledges what it gets. It does unless told otherwise. */
  readonly acknowledges?: boolean;
}

/** A device that speaks JSON, and keeps what it is told. */
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

  /** Sends what no frame of ours is. */
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

  /** Waits for as many messages, and returns all ids. */
  untilReceived(count: number): Promise<string[]> {
    return eventually(() => {
      if (this.ids.length < count) throw new Error(`${this.ids.length} messages of ${count}`);
      return this.ids;
    });
  }

  /** An answer has come to what was said until now: so has everything that was on its way before. */
  async roundTrip(): Promise<void> {
    const before = this.#heartbeats();
    this.say({});
    await eventually(() => {
      if (this.#heartbeats() <= before) throw new Error('no heartbeat');
    });
  }

  /** Stops reading, as a device that hangs. */
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
