import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { StartError } from '#bootstrap';
import {
  accountsImportRpc,
  applicationsRpc,
  type ClassName,
  type ImportObjectsReply,
  pushImportRpc,
  type RpcContract,
  type RpcReply,
} from '#contracts';
import { Backoff, isAppError } from '#errors';
import type { RpcClient } from '#messaging';
import { SilentServiceError } from '../operator-connection.js';

const RETRIES = 8;
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 10_000;

interface SentBatch {
  readonly id: string;
  readonly done: Promise<void>;
}

export interface BatchOrder {
  /** Absent where the request does not complete the batch. */
  readonly id?: string | undefined;
  readonly former?: SentBatch | undefined;
}

/** Calls back with each batch while the one before is still being processed. */
export async function inBatches<T>(
  batches: AsyncIterable<T[]>,
  send: (batch: T[], order: BatchOrder) => Promise<void>,
): Promise<void> {
  let former: SentBatch | undefined;
  let last: SentBatch | undefined;
  try {
    for await (const batch of batches) {
      await former?.done;
      const id = randomUUID();
      former = last;
      last = { id, done: send(batch, { id, former }) };
      // The failure is thrown where the batch is awaited.
      last.done.catch(() => undefined);
    }
  } finally {
    await last?.done;
  }
}

export async function* batchesOf<T>(rows: AsyncIterable<T>, size: number): AsyncIterable<T[]> {
  let batch: T[] = [];
  for await (const row of rows) {
    if (batch.push(row) < size) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

type ImportObjectsData = Parameters<typeof RpcClient.prototype.call<typeof accountsImportRpc.importObjects>>[1];

export class ImportRequests {
  constructor(
    private readonly rpc: RpcClient,
    private readonly isStopped: () => boolean,
  ) {}

  /** The service starts a batch after `former`. If another process handles `former`, the batch is sent again after its reply. */
  async store(request: ImportObjectsData, { id: batchId, former }: BatchOrder): Promise<ImportObjectsReply> {
    const contract = importOf(request.className);
    const named = { ...request, ...(batchId === undefined ? {} : { batchId }) };
    const reply = await this.call(contract, { ...named, ...(former === undefined ? {} : { after: former.id }) });
    if (reply.isDone) return reply;
    await former?.done;
    return this.call(contract, named);
  }

  /** Repeats a request while the service is unavailable: batches are idempotent. */
  async call<C extends RpcContract>(contract: C, data: Parameters<typeof this.rpc.call<C>>[1]): Promise<RpcReply<C>> {
    const backoff = new Backoff(LONGEST_PAUSE_MS, FIRST_PAUSE_MS);
    for (let tries = 0; tries < RETRIES && !this.isStopped(); tries += 1) {
      const outcome = await this.#attempt(contract, data);
      if (outcome !== undefined) return outcome;
      await sleep(backoff.next());
    }
    return this.rpc.call(contract, data);
  }

  async #attempt<C extends RpcContract>(
    contract: C,
    data: Parameters<typeof this.rpc.call<C>>[1],
  ): Promise<RpcReply<C> | undefined> {
    try {
      return await this.rpc.call(contract, data);
    } catch (error) {
      if (isTemporary(error)) return undefined;
      throw error;
    }
  }
}

export function importOf(className: ClassName): typeof accountsImportRpc.importObjects {
  return className === '_Installation' ? pushImportRpc.importObjects : accountsImportRpc.importObjects;
}

function isTemporary(error: unknown): boolean {
  return error instanceof SilentServiceError || isAppError(error, 'SERVICE_UNAVAILABLE');
}

/** The message names the command that creates it. @throws StartError */
export async function assertApplication(rpc: RpcClient, id: string): Promise<void> {
  try {
    await rpc.call(applicationsRpc.get, { id });
  } catch (error) {
    if (!isAppError(error, 'NOT_FOUND')) throw error;
    throw new StartError(
      `There is no application ${id}. Create it with the keys that the shipped app carries: GATEPOST_APP_KEY=… GATEPOST_MASTER_KEY=… npm run gatepost -- apps create NAME --id ${id} --given-keys`,
      { cause: error },
    );
  }
}
