import WebSocket from 'ws';

/** All shared objects of a process, with all their properties: kept in the process, to be compared there. */
const SHARED = `[Object, Function, Array, String, Number, Boolean, Symbol, RegExp, Date, Map, Set, Promise, Error, Buffer]
  .flatMap((one) => [one, one.prototype])
  .map((holder) => [holder, Reflect.ownKeys(holder).map((key) => [key, Reflect.getOwnPropertyDescriptor(holder, key)])])`;

/** Properties that are new, removed or changed. */
const CHANGES = `function () {
  const parts = ['value', 'get', 'set', 'writable', 'enumerable', 'configurable'];
  return this.flatMap(([holder, before]) => {
    const added = Reflect.ownKeys(holder).filter((key) => !before.some(([name]) => name === key));
    const changed = before.filter(([key, was]) => {
      const is = Reflect.getOwnPropertyDescriptor(holder, key);
      return is === undefined || parts.some((part) => !Object.is(is[part], was[part]));
    });
    return [...added, ...changed.map(([key]) => key)].map(String);
  }).join();
}`;

/** One whose prototypes are broken may never answer. */
const DEADLINE_MS = 20_000;

/** A process of the product, looked into by Node's inspector: nothing in the product has to help. */
export class InspectedProcess {
  #next = 0;
  readonly #waiting = new Map<number, (answer: Answer) => void>();

  private constructor(private readonly socket: WebSocket) {
    socket.on('message', (data: Buffer) => {
      const { id, ...answer } = JSON.parse(data.toString()) as Answer;
      if (id !== undefined) this.#waiting.get(id)?.(answer);
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
      // A process does not end while a debugger is attached.
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

  /** Keeps what all objects share as it is now. @returns by what it is compared with what it has become */
  async prototypes(): Promise<string> {
    const { objectId } = await this.#ask('Runtime.evaluate', { expression: SHARED });
    if (objectId === undefined) throw new Error('the process has not kept its prototypes');
    return objectId;
  }

  /** The names of what was added to or changed in what all objects share, with commas between; '' for nothing. */
  async changesSince(objectId: string): Promise<string> {
    const asked = { objectId, functionDeclaration: CHANGES, returnByValue: true };
    const { value } = await this.#ask('Runtime.callFunctionOn', asked);
    if (typeof value !== 'string') throw new Error('the process has not compared its prototypes');
    return value;
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
    return (await this.#ask('Runtime.evaluate', { expression, returnByValue: true })).value;
  }

  async #ask(method: string, params: Readonly<Record<string, unknown>>): Promise<RemoteObject> {
    const { result, exceptionDetails } = await this.#call(method, params);
    if (result === undefined || exceptionDetails !== undefined)
      throw new Error(`a process fails at ${method}: ${JSON.stringify(exceptionDetails)}`);
    return result;
  }

  #call(method: string, params: Readonly<Record<string, unknown>> = {}): Promise<Result> {
    const id = (this.#next += 1);
    return new Promise((resolve, reject) => {
      const deadline = setTimeout(() => {
        reject(new Error(`a process does not answer its inspector: ${method}`));
      }, DEADLINE_MS);
      this.#waiting.set(id, ({ result, error }) => {
        clearTimeout(deadline);
        this.#waiting.delete(id);
        if (result === undefined) reject(new Error(`a process refuses ${method}: ${JSON.stringify(error)}`));
        else resolve(result);
      });
      this.socket.send(JSON.stringify({ id, method, params }));
    });
  }
}

interface RemoteObject {
  readonly value?: unknown;
  readonly objectId?: string;
}

interface Result {
  readonly result?: RemoteObject;
  readonly exceptionDetails?: unknown;
}

interface Answer {
  readonly id?: number;
  readonly result?: Result;
  readonly error?: unknown;
}
