import type { Application } from '#contracts';
import type { RpcClient } from '#messaging';

/** Something that the operator of an application should mend. */
export interface Finding {
  readonly problem: string;
  /** The command that mends it, or what to do. */
  readonly remedy: string;
}

/** Looks at one part of an application. */
export type Check = (rpc: RpcClient, application: Application) => Promise<Finding[]>;
