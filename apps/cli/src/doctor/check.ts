import type { Application } from '#contracts';
import type { RpcClient } from '#messaging';

/** Something that the operator should mend. */
export interface Finding {
  readonly problem: string;
  /** The command that mends it, or what to do. */
  readonly remedy: string;
  /** It may be as it should be: worth a thought, and no failure. */
  readonly isAdvice?: boolean;
}

/** Looks at one part of an application. */
export type Check = (rpc: RpcClient, application: Application) => Promise<Finding[]>;
