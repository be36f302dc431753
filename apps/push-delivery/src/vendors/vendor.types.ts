import type { JsonObject } from '#contracts';
import type { StoredMessage } from '../pushes/push.row.js';

/** Whether a failure may be the vendor's, or concerns only the device, such as that of a server that the device has chosen. */
type Scope = 'lane' | 'device';

/** The result of one device. Reasons come from short lists, because the record of the push counts devices by reason. */
export type Outcome =
  /** Taken by the vendor. */
  | { readonly kind: 'accepted' }
  /** The token is dead. `since`: from this time on. `isDoubtful`: wrong credentials would have the same answer. */
  | { readonly kind: 'invalid'; readonly reason: string; readonly since?: Date; readonly isDoubtful?: boolean }
  /** Not to be tried again. */
  | { readonly kind: 'rejected'; readonly reason: string }
  /** To be tried later. The vendor asks for fewer requests in the scope, for `restMs` for none. */
  | { readonly kind: 'later'; readonly reason: string; readonly scope: Scope; readonly restMs?: number }
  /** The request has left and no answer came: it is tried again. */
  | { readonly kind: 'unsure'; readonly reason: string; readonly scope: Scope }
  /** The credentials do not work: nothing of the lane is tried until it has rested. */
  | { readonly kind: 'credentials'; readonly reason: string }
  /** Not tried: the lane rests or the process stops. `restMs`: the server that the device has chosen rests for this time, and others go on. */
  | { readonly kind: 'waiting'; readonly reason: string; readonly restMs?: number };

/** A push, as channels see it. */
export interface VendorPush {
  readonly appId: string;
  readonly objectId: string;
  readonly data: JsonObject;
  readonly message: StoredMessage;
  readonly prod: 'dev' | 'prod';
  readonly expiresAt: Date;
  /** The earlier attempts that the vendor has answered without a result. */
  readonly keyNo: number;
  /** An earlier attempt may have reached the vendor, and its answer was lost. */
  readonly isRepeat: boolean;
}

/** A device with its token as it is now. */
export interface VendorTarget {
  readonly objectId: string;
  readonly token: string;
  readonly platform: string;
  /** The app that the installation names; null where it names none. */
  readonly topic: string | null;
  /** The value for a push that counts badges up. */
  readonly badge: number | null;
}

/** Why credentials do not work. */
export interface CheckProblem {
  readonly text: string;
  /** The vendor has answered; false: it could not be reached. */
  readonly isRefusal: boolean;
}

/** The push service of a vendor, with one set of credentials in one environment. */
export interface VendorChannel {
  /** Devices of one request. */
  readonly targetsPerRequest: number;
  /** Each device has chosen its server, so that the silence of one says nothing about the next. */
  readonly devicesChooseServer?: true;
  /** One outcome for each target, in their order. It never rejects: a failure is an outcome. */
  send(push: VendorPush, targets: readonly VendorTarget[]): Promise<readonly Outcome[]>;
  /** Signs in without sending to a device. @returns undefined where the credentials work */
  check(): Promise<CheckProblem | undefined>;
  /**
   * Reads the vendor's list of invalid tokens page by page. The vendor names each token once: record a page before you ask for the next.
   * Absent where the vendor keeps none.
   */
  invalidTokens?(): AsyncIterable<readonly string[]>;
  close(): void;
}
