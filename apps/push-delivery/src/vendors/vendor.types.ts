import type { JsonObject } from '#contracts';
import type { StoredMessage } from '../pushes/push.row.js';

/** Whether a failure may be the vendor's, or concerns only the device, such as that of a server that the device has chosen. */
type Scope = 'lane' | 'device';

/** Reasons come from short lists: the push's record counts devices by reason. */
export type Outcome =
  | { readonly kind: 'accepted' }
  | { readonly kind: 'invalid'; readonly reason: string; readonly since?: Date; readonly isDoubtful?: boolean }
  | { readonly kind: 'rejected'; readonly reason: string }
  /** The vendor asks for fewer requests in the scope, and for none for `backOffMs`. */
  | { readonly kind: 'later'; readonly reason: string; readonly scope: Scope; readonly backOffMs?: number }
  | { readonly kind: 'unsure'; readonly reason: string; readonly scope: Scope }
  | { readonly kind: 'credentials'; readonly reason: string }
  /** Not tried. `backOffMs`: only the server of this device is in back-off. */
  | { readonly kind: 'waiting'; readonly reason: string; readonly backOffMs?: number };

export interface VendorPush {
  readonly appId: string;
  readonly objectId: string;
  readonly data: JsonObject;
  readonly message: StoredMessage;
  readonly prod: 'dev' | 'prod';
  readonly expiresAt: Date;
  /** Earlier attempts that the vendor answered without a result. */
  readonly keyNo: number;
  readonly isRepeat: boolean;
}

export interface VendorTarget {
  readonly objectId: string;
  readonly token: string;
  readonly platform: string;
  readonly topic: string | null;
  readonly badge: number | null;
}

export interface CheckProblem {
  readonly text: string;
  readonly isRefusal: boolean;
}

export interface VendorChannel {
  readonly targetsPerRequest: number;
  readonly devicesChooseServer?: true;
  /** One outcome for each target in order. It never rejects: a failure is an outcome. */
  send(push: VendorPush, targets: readonly VendorTarget[]): Promise<readonly Outcome[]>;
  /** Sends to no device. @returns undefined if the credentials work */
  check(): Promise<CheckProblem | undefined>;
  /** Reads page by page. The vendor names each token once: record a page before you ask for the next. */
  invalidTokens?(): AsyncIterable<readonly string[]>;
  close(): void;
}
