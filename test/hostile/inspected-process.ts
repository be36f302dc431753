import WebSocket from 'ws';

/** Prototypes that everything in a process shares, with what they have; a planted property shows as one more. */
const SHARED = `JSON.stringify([Object, Function, Array, String, Number, Boolean, Symbol, RegExp, Date, Map, Set, Promise, Error, Buffer]
  .map((one) => [one, one.prototype].flatMap((holder) => Reflect.ownKeys(holder).map(String))))`;

/** One whose prototypes are broken may never answer. */
const DEADLINE_MS = 20_000;

/** A process of the product, looked into by Node's inspector: nothing in the product has to help. */
export class InspectedProcess {
  #next = 0;
  readonly #waiting = new Map<number, (result: Result) => void>();

  private constructor(private readonly socket: WebSocket) {
    socket.on('message', (data: Buffer) => {
      const { id, result } = JSON.parse(data.toString()) as { id?: number; result?: Result };
      if (id !== undefined && result !== undefined) this.#waiting.get(id)?.(result);
    });
  }

  /** With this in its environment a process can be inspected, and says where. */
  static readonly env = { NODE_OPTIONS: '--inspect=127.0.0.1:0' };

  /** Those of the processes that have said in the log where they can be inspected, by their ids. */
  static async among(pids: readonly number[], log: string): Promise<Map<number, InspectedProcess>> {
    const urls = [...log.matchAll(/Debugger listening on (ws:\S+)/g)].map(([, url = '']) => url);
    const found = new Map<number, InspectedProcess>();
    for (const url of urls) {
      const inspected = await InspectedProcess.#at(url).catch(() => undefined);
      if (inspected === undefined) continue;
      const pid = Number(await inspected.#evaluate('process.pid'));
      // A process does not end while somebody looks into it.
      if (pids.includes(pid)) found.set(pid, inspected);
      else inspected.close();
    }
    return found;
  }

  static #at(url: string): Promise<InspectedProcess> {
    const socket = new WebSocket(url);
    return new Promise((resolve, reject) => {
      socket.once('open', () => {
        resolve(new InspectedProcess(socket));
      });
      socket.once('error', reject);
    });
  }

  /** What shared prototypes have. */
  async prototypes(): Promise<string> {
    return String(await this.#evaluate(SHARED));
  }

  /** Bytes of the heap that are in use once all garbage is collected, and those outside of it. */
  async heapInUse(): Promise<number> {
    await this.#call('HeapProfiler.collectGarbage');
    await this.#call('HeapProfiler.collectGarbage');
    const expression = '(({ heapUsed, external }) => heapUsed + external)(process.memoryUsage())';
    return Number(await this.#evaluate(expression));
  }

  close(): void {
    this.socket.close();
  }

  async #evaluate(expression: string): Promise<unknown> {
    const { result } = await this.#call('Runtime.evaluate', { expression, returnByValue: true });
    return result?.value;
  }

  #call(method: string, params: Readonly<Record<string, unknown>> = {}): Promise<Result> {
    const id = (this.#next += 1);
    return new Promise((resolve, reject) => {
      const deadline = setTimeout(() => {
        reject(new Error(`a process does not answer its inspector: ${method}`));
      }, DEADLINE_MS);
      this.#waiting.set(id, (result) => {
        clearTimeout(deadline);
        this.#waiting.delete(id);
        resolve(result);
      });
      this.socket.send(JSON.stringify({ id, method, params }));
    });
  }
}

interface Result {
  readonly result?: { readonly value?: unknown };
}
