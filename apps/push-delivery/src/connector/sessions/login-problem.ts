import { appId as appIdSchema, installationId as installationIdSchema } from '#contracts';
import { isStorableText } from '#objects';
import type { DeviceAddress } from '../../device-queues/device-address.js';
import { CLOSE, UNKNOWN_APPLICATION } from './close-codes.js';

/** Why a login cannot be good, whatever the store says. @param device whom the connection belongs to already */
export function loginProblem(
  appId: string,
  installationId: string,
  device: DeviceAddress | undefined,
): { readonly code: number; readonly reason: string } | undefined {
  if (!appIdSchema.safeParse(appId).success) return { code: CLOSE.unknownApplication, reason: UNKNOWN_APPLICATION };
  // What no installation can have, no store has to be asked for.
  if (!installationIdSchema.safeParse(installationId).success || !isStorableText(installationId))
    return { code: CLOSE.invalidLogin, reason: 'The installationId must be a text of 1 to 128 characters.' };
  if (device !== undefined && (device.appId !== appId || device.installationId !== installationId))
    return { code: CLOSE.invalidLogin, reason: 'Another device has logged in on this connection.' };
  return undefined;
}
