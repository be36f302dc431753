import type { DeviceAddress } from '../../device-queues/device-address.js';
import { CLOSE, UNKNOWN_APPLICATION } from './close-codes.js';

/** No application has a longer one. */
const MAX_APP_ID_LENGTH = 64;
/** As the contract of installations has it. */
const MAX_INSTALLATION_ID_LENGTH = 128;

/** Why a login cannot be good, whatever the store says. @param device whom the connection belongs to already */
export function loginProblem(
  appId: string,
  installationId: string,
  device: DeviceAddress | undefined,
): { readonly code: number; readonly reason: string } | undefined {
  if (appId === '' || appId.length > MAX_APP_ID_LENGTH)
    return { code: CLOSE.unknownApplication, reason: UNKNOWN_APPLICATION };
  if (installationId === '' || installationId.length > MAX_INSTALLATION_ID_LENGTH)
    return { code: CLOSE.invalidLogin, reason: 'The installationId must have 1 to 128 characters.' };
  if (device !== undefined && (device.appId !== appId || device.installationId !== installationId))
    return { code: CLOSE.invalidLogin, reason: 'Another device has logged in on this connection.' };
  return undefined;
}
