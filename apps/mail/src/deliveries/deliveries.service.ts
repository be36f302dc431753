import { Controller, Injectable } from '@nestjs/common';
import { deliveriesRpc, type RpcData, type RpcReply, type ShownDelivery } from '#contracts';
import type { Tx } from '#database';
import { appError } from '#errors';
import { RpcHandler } from '#messaging';
import { Metrics } from '#observability';
import { Sealer } from '#security';
import { DeliveriesRepository, type OutdatedDeliveries } from './deliveries.repository.js';
import { DeliveryLogRepository, sampleWaiting } from './delivery-log.repository.js';
import { DeliverySender } from './delivery-sender.js';
import { contentContext, type LoggedRow, type NewDelivery } from './delivery.rules.js';

const REPLACED = 'a later code replaces it';

@Injectable()
export class DeliveriesService {
  constructor(
    private readonly deliveries: DeliveriesRepository,
    private readonly log: DeliveryLogRepository,
    private readonly sender: DeliverySender,
    private readonly sealer: Sealer,
    metrics: Metrics,
  ) {
    sampleWaiting(this.log, metrics);
  }

  async add(tx: Tx, { content, delaySeconds = 0, ...delivery }: NewDelivery): Promise<void> {
    const sealedContent = this.sealer.seal(JSON.stringify(content), contentContext(delivery.id));
    await this.deliveries.add(tx, { ...delivery, sealedContent, delaySeconds });
    tx.afterCommit(() => {
      this.sender.wake(delivery.channel);
    });
  }

  /** Only the latest code for a use is sent: accounts accepts no other. */
  async addCode(tx: Tx, code: NewDelivery): Promise<void> {
    const isReplaced = await this.deliveries.dropReplaced(tx, code, REPLACED);
    if (isReplaced) await this.addDropped(tx, code, REPLACED);
    else await this.add(tx, code);
  }

  async addDropped(tx: Tx, { id, ...delivery }: NewDelivery, reason: string): Promise<void> {
    await this.deliveries.add(tx, { ...delivery, id, sealedContent: '', delaySeconds: 0 });
    await this.deliveries.drop(tx, [id], reason);
  }

  dropOutdated(tx: Tx, change: OutdatedDeliveries): Promise<number> {
    return this.deliveries.dropOutdated(tx, change);
  }

  /** @throws Error if a waiting delivery was sealed with another secret: it could not be sent */
  async assertSecretFits(): Promise<void> {
    const row = await this.log.findSealed();
    if (row !== undefined) this.sealer.open(row.sealedContent, contentContext(row.id));
  }
}

type Rpc = typeof deliveriesRpc;
type Data<Name extends keyof Rpc> = RpcData<Rpc[Name]>;
type Reply<Name extends keyof Rpc> = Promise<RpcReply<Rpc[Name]>>;

@Controller()
export class DeliveriesController {
  constructor(
    private readonly log: DeliveryLogRepository,
    private readonly sender: DeliverySender,
  ) {}

  @RpcHandler(deliveriesRpc.list)
  async list(wanted: Data<'list'>): Reply<'list'> {
    const { limit } = wanted;
    const found = await this.log.list({ ...wanted, limit: limit + 1 });
    const page = found.slice(0, limit);
    const last = found.length > limit ? page.at(-1) : undefined;
    return {
      deliveries: page.map(toShownDelivery),
      next: last === undefined ? null : { createdAt: last.createdAt.toISOString(), id: last.id },
      ...(wanted.counts === true ? { counts: await this.log.countByStatus(wanted) } : {}),
    };
  }

  @RpcHandler(deliveriesRpc.countByDay)
  async countByDay({ appId, from }: Data<'countByDay'>): Reply<'countByDay'> {
    return { days: await this.log.countByDay(appId, from) };
  }

  @RpcHandler(deliveriesRpc.get)
  async get(wanted: Data<'get'>): Reply<'get'> {
    return { delivery: await this.#find(wanted) };
  }

  @RpcHandler(deliveriesRpc.retry)
  async retry(wanted: Data<'retry'>): Reply<'retry'> {
    const row = await this.log.revive(wanted);
    if (row === undefined) throw appError('NO_EFFECT', { message: refusalOf(await this.#find(wanted)) });
    this.sender.wake(row.channel);
    return { delivery: toShownDelivery(row) };
  }

  @RpcHandler(deliveriesRpc.retryDead)
  async retryDead({ appId }: Data<'retryDead'>): Reply<'retryDead'> {
    const retried = await this.log.reviveSome(appId);
    if (retried > 0) this.sender.wakeAll();
    return { retried };
  }

  async #find(wanted: Data<'get'>): Promise<ShownDelivery> {
    const row = await this.log.find(wanted);
    if (row === undefined) throw appError('NOT_FOUND', { message: `There is no mail or text message ${wanted.id}.` });
    return toShownDelivery(row);
  }
}

function refusalOf({ id, status, expiresAt }: ShownDelivery): string {
  return status === 'dead'
    ? `${id} is not sent again: its link or code has expired (${expiresAt}).`
    : `${id} is not sent again: it is ${status}, and only dead messages are.`;
}

function toShownDelivery(row: LoggedRow): ShownDelivery {
  return {
    ...row,
    attemptLog: [...row.attemptLog],
    createdAt: row.createdAt.toISOString(),
    expiresAt: row.expiresAt.toISOString(),
    nextAttemptAt: row.settledAt === null ? row.nextAttemptAt.toISOString() : null,
    settledAt: row.settledAt?.toISOString() ?? null,
  };
}
