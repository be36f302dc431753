import { z } from 'zod';
import { appId } from './application.schema.js';
import { givenCredentials } from './credential.schema.js';
import { platformKind, platformName } from './platform.schema.js';
import { rpc } from './rpc.js';

/** Credentials as an operator may see them. */
const shownCredentials = z.object({
  platform: platformName,
  kind: platformKind,
  /** Fields that are no secret. */
  shown: z.record(z.string(), z.string()),
  /** Names of the secret fields that are set. */
  secrets: z.array(z.string()),
});

export type ShownCredentials = z.output<typeof shownCredentials>;

/** What operators ask about an application's platforms, by the same ways as `applicationsRpc`. */
export const platformsRpc = {
  /** Replaces what was set for the platform. `fields`: as `PLATFORM_CREDENTIALS` says for the kind. */
  set: rpc(
    'auth-linking.setPlatformCredentials',
    z.object({
      appId,
      platform: platformName,
      kind: platformKind,
      fields: givenCredentials,
    }),
    z.object({ credentials: shownCredentials }),
  ),
  remove: rpc('auth-linking.removePlatformCredentials', z.object({ appId, platform: platformName }), z.object({})),
  list: rpc(
    'auth-linking.listPlatformCredentials',
    z.object({ appId }),
    z.object({ platforms: z.array(shownCredentials) }),
  ),
};
