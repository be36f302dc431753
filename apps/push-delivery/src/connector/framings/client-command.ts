/** What a device says, whatever its framing. `i`: the number under which it expects the answer. */
export type ClientCommand =
  | { readonly kind: 'heartbeat' }
  | { readonly kind: 'echo'; readonly i: number | undefined }
  | {
      readonly kind: 'login';
      readonly appId: string;
      readonly installationId: string;
      readonly i: number | undefined;
      /** Messages that the device has had, though perhaps nobody was told. */
      readonly seen: readonly string[];
    }
  | { readonly kind: 'logout'; readonly i: number | undefined }
  | { readonly kind: 'ack'; readonly ids: readonly string[] }
  /** Of live queries, instant messaging, or nothing that we know. */
  | { readonly kind: 'unsupported'; readonly i: number | undefined };

/** A frame that its framing cannot read. */
export class MalformedFrame extends Error {
  override readonly name = 'MalformedFrame';
}
