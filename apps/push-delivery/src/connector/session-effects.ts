import { appId as appIdSchema, installationId as installationIdSchema } from '#contracts';
import { isStorableText } from '#objects';
import type { DeviceAddress, MessageRef } from '../device-queues/device-queues.js';
import type { ServerFrame } from './framings/framing.js';

export type Effect =
  | { readonly kind: 'send'; readonly frame: ServerFrame }
  | { readonly kind: 'ping' }
  | { readonly kind: 'close'; readonly code: number; readonly reason: string }
  /** Close without a handshake: the device no longer responds. */
  | { readonly kind: 'terminate' }
  | { readonly kind: 'connect' }
  | { readonly kind: 'peek' }
  | { readonly kind: 'acknowledge'; readonly refs: readonly MessageRef[]; readonly reportedUpTo: number };

/** Close codes: those of RFC 6455, and those of the SDKs. leancloud-realtime does not reconnect after 4100 and 4103. */
export const CLOSE = {
  restart: 1012,
  malformed: 1007,
  internal: 1011,
  unknownApplication: 4100,
  invalidLogin: 4103,
  readTimeout: 4107,
  loginTimeout: 4108,
  conflict: 4111,
  tooFast: 4116,
} as const;

/** Codes set by clients, browsers and the network: normal, going away, no status, abnormal, too large. */
const CLOSED_BY_OTHERS = [1000, 1001, 1005, 1006, 1009];
const LABELLED: ReadonlySet<number> = new Set([...CLOSED_BY_OTHERS, ...Object.values(CLOSE)]);

/** The label of a code in metrics. Clients can close with thousands of codes, which would create as many series. */
export function closeCodeLabel(code: number): string {
  return LABELLED.has(code) ? String(code) : 'other';
}

export const UNKNOWN_APPLICATION = 'There is no such application.';

/** @param device the device that the connection already belongs to */
export function loginProblem(
  appId: string,
  installationId: string,
  device: DeviceAddress | undefined,
): { readonly code: number; readonly reason: string } | undefined {
  if (!appIdSchema.safeParse(appId).success) return { code: CLOSE.unknownApplication, reason: UNKNOWN_APPLICATION };
  // No installation can have such an id.
  if (!installationIdSchema.safeParse(installationId).success || !isStorableText(installationId))
    return { code: CLOSE.invalidLogin, reason: 'The installationId must be a string of 1 to 128 characters.' };
  if (device !== undefined && (device.appId !== appId || device.installationId !== installationId))
    return { code: CLOSE.invalidLogin, reason: 'Another device has logged in on this connection.' };
  return undefined;
}
