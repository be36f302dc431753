import { type Application, deliveriesRpc, MAX_DELIVERY_LIST_LIMIT } from '#contracts';
import type { RpcClient } from '#messaging';
import type { Finding } from './check.js';
import { deliveryFindings } from './delivery-findings.js';

/** Whether mails and text messages leave. */
export async function checkDeliveries(rpc: RpcClient, { id: appId }: Application): Promise<Finding[]> {
  const waiting = await Promise.all(
    (['queued', 'failed'] as const).map(async (status) => {
      const { deliveries } = await rpc.call(deliveriesRpc.list, { appId, status, limit: MAX_DELIVERY_LIST_LIMIT });
      return deliveries;
    }),
  );
  return deliveryFindings(appId, waiting.flat(), new Date());
}
