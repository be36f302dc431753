import { z } from 'zod';
import { appId } from './application.schema.js';
import { MAX_LIST_LIMIT, objectId } from './objects.contract.js';
import { rpc } from './rpc.js';

const MAX_NAME_LENGTH = 255;

const lockedUser = z.object({
  userId: objectId,
  /** Null where no user has the id: names that nobody has can be locked too. */
  username: z.string().nullable(),
  lockedUntil: z.iso.datetime(),
});

export type LockedUser = z.output<typeof lockedUser>;

/** What operators ask about the lockout, by the same ways as `applicationsRpc`. Nothing here unlocks. */
export const lockoutsRpc = {
  /** In the order in which the locks end. `after`: the last one of the page before. */
  list: rpc(
    'accounts.listLockouts',
    z.object({
      appId,
      limit: z.number().int().min(1).max(MAX_LIST_LIMIT),
      after: lockedUser.pick({ userId: true, lockedUntil: true }).optional(),
    }),
    z.object({ lockedUsers: z.array(lockedUser) }),
  ),
  /** `user`: an id or a username. `failures`: those that count now. */
  get: rpc(
    'accounts.getLockout',
    z.object({ appId, user: z.string().min(1).max(MAX_NAME_LENGTH) }),
    z.object({
      userId: objectId,
      username: z.string(),
      lockedUntil: z.iso.datetime().nullable(),
      failures: z.number().int(),
    }),
  ),
};
