/** A message for a device: its id, and the JSON text of the body for the device's platform. */
export interface DeliveredMessage {
  readonly id: string;
  readonly body: string;
  /** Of the body in UTF-8. */
  readonly bytes: number;
}

/** What we say to a device, whatever its framing. */
export type ServerFrame =
  | { readonly kind: 'heartbeat' }
  | { readonly kind: 'echo'; readonly i: number | undefined }
  | {
      readonly kind: 'loggedIn';
      readonly installationId: string;
      readonly i: number | undefined;
      /** Something comes at least so often. */
      readonly heartbeatSeconds: number;
    }
  | { readonly kind: 'loggedOut'; readonly i: number | undefined }
  | { readonly kind: 'data'; readonly messages: readonly DeliveredMessage[] }
  /** So many messages were dropped; it is acknowledged by its id, like a message. */
  | { readonly kind: 'gap'; readonly id: string; readonly dropped: number }
  | { readonly kind: 'goAway'; readonly retryAfterMs: number; readonly reason: string }
  | { readonly kind: 'error'; readonly code: number; readonly reason: string; readonly i: number | undefined };
