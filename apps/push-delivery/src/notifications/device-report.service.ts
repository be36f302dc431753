import { Inject, Injectable } from '@nestjs/common';
import type { pushOperationsRpc, RpcReply } from '#contracts';
import { DEVICE_QUEUES, type DeviceQueues } from '../device-queues/device-queues.js';
import { DeviceCountsRepository } from './device-counts.repository.js';

/** How many devices an application could reach, for operators. */
@Injectable()
export class DeviceReportService {
  constructor(
    private readonly devices: DeviceCountsRepository,
    @Inject(DEVICE_QUEUES) private readonly queues: DeviceQueues,
  ) {}

  /** @throws AppError SERVICE_UNAVAILABLE where the queues do not answer */
  async count(appId: string): Promise<RpcReply<typeof pushOperationsRpc.devices>> {
    const [counts, connected] = await Promise.all([this.devices.count(appId), this.queues.countConnected(appId)]);
    const platforms = Object.fromEntries(counts.map(({ platform, ...count }) => [platform, count]));
    return { platforms, connected };
  }
}
