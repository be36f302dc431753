import { z } from 'zod';

/** Who asks, as far as permissions go: nobody in particular, or a user with the roles that it has. */
export const principal = z.object({
  userId: z.string().optional(),
  /** Names of the user's roles, those that come by other roles included. */
  roles: z.array(z.string()).readonly(),
});

export type Principal = z.output<typeof principal>;
