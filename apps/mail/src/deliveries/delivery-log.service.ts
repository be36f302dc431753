import { Injectable } from '@nestjs/common';
import type { deliveriesRpc, RpcData, ShownDelivery } from '#contracts';
import { appError } from '#errors';
import { Sealer } from '#security';
import { DeliveryLogRepository } from './delivery-log.repository.js';
import { DeliverySender } from './delivery-sender.js';
import type { LoggedRow } from './delivery.row.js';
import { contentContext } from './delivery.rules.js';

/** Shows operators what became of mails and text messages, never what stands in them. */
@Injectable()
export class DeliveryLogService {
  constructor(
    private readonly log: DeliveryLogRepository,
    private readonly sender: DeliverySender,
    private readonly sealer: Sealer,
  ) {}

  async list(wanted: RpcData<typeof deliveriesRpc.list>): Promise<ShownDelivery[]> {
    return (await this.log.list(wanted)).map(shown);
  }

  /** @throws AppError NOT_FOUND */
  async get(id: string): Promise<ShownDelivery> {
    const row = await this.log.find(id);
    if (row === undefined) throw appError('NOT_FOUND', { message: `There is no mail or text message ${id}.` });
    return shown(row);
  }

  /** @throws AppError NOT_FOUND, NO_EFFECT where it is not dead or has expired */
  async retry(id: string): Promise<ShownDelivery> {
    const row = await this.log.revive(id);
    if (row === undefined) throw appError('NO_EFFECT', { message: refusalOf(await this.get(id)) });
    this.sender.wake(row.channel);
    return shown(row);
  }

  /** @throws Error where what waits was sealed with another secret: then it could not be sent */
  async assertSecretFits(): Promise<void> {
    const row = await this.log.findSealed();
    if (row !== undefined) this.sealer.open(row.sealedContent, contentContext(row.id));
  }

  async retryDead(appId: string | undefined): Promise<number> {
    const retried = await this.log.reviveSome(appId);
    if (retried > 0) this.sender.wakeAll();
    return retried;
  }
}

function refusalOf({ id, status, expiresAt }: ShownDelivery): string {
  return status === 'dead'
    ? `${id} is not sent again: its link or code has expired (${expiresAt}).`
    : `${id} is not sent again: it is ${status}, and only dead ones are.`;
}

function shown(row: LoggedRow): ShownDelivery {
  return {
    ...row,
    createdAt: row.createdAt.toISOString(),
    expiresAt: row.expiresAt.toISOString(),
    nextAttemptAt: row.settledAt === null ? row.nextAttemptAt.toISOString() : null,
    settledAt: row.settledAt?.toISOString() ?? null,
  };
}
