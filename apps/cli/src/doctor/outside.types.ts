/** The certificate that the API's address shows. */
export interface ShownCertificate {
  /** Why it is not trusted; undefined where it is. */
  readonly problem: string | undefined;
  readonly daysLeft: number;
}

/** What a client finds that comes from where the command line runs. */
export interface OutsideView {
  readonly url: string;
  /** Undefined where the address is not encrypted, or nothing answers. */
  readonly certificate: ShownCertificate | undefined;
  /** Why the API does not answer; undefined where it does. */
  readonly problem: string | undefined;
  /** How far its clock is ahead, in milliseconds; undefined where it does not say. */
  readonly skewMs: number | undefined;
  /** Paths for operators that anybody can read. */
  readonly openPaths: readonly string[];
  /** Where devices are sent, and why they do not get in; undefined where it was not asked. */
  readonly push: { readonly url: string; readonly problem: string | undefined } | undefined;
}
