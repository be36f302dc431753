import { type Application, identitiesRpc, platformsRpc } from '#contracts';
import type { RpcClient } from '#messaging';
import type { Finding } from './check.js';
import { platformFindings } from './platform-findings.js';

/** Whether accounts of third-party platforms are verified wherever Gatepost can have them verified. */
export async function checkPlatforms(rpc: RpcClient, { id, settings }: Application): Promise<Finding[]> {
  const { platforms: credentials } = await rpc.call(platformsRpc.list, { appId: id });
  const { platforms: used } = await rpc.call(identitiesRpc.count, { appId: id });
  return platformFindings({ id, isVerificationRequired: settings.requireVerifiedPlatforms, credentials, used });
}
