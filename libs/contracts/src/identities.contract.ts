import { z } from 'zod';
import { appId } from './application.schema.js';
import { platformKind, platformName } from './platform.schema.js';
import { rpc } from './rpc.js';

/** Which platforms the users of an application have accounts of; operators ask. */
export const identitiesRpc = {
  count: rpc(
    'accounts.countIdentities',
    z.object({ appId }),
    z.object({
      platforms: z.array(
        z.object({
          platform: platformName,
          kind: platformKind.optional(),
          verified: z.number().int(),
          unverified: z.number().int(),
        }),
      ),
    }),
  ),
};
