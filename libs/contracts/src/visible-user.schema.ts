import { z } from 'zod';
import type { JsonObject } from './json.schema.js';

/** A user as the asking party may see it, whichever fields it asked for. */
export type VisibleUser = JsonObject & { objectId: string; updatedAt: string };

/** Like `jsonObject` it looks at what is relied on only: a user may hold a megabyte of fields. */
export const visibleUser = z
  .custom<VisibleUser>(
    (value) =>
      typeof value === 'object' &&
      value !== null &&
      'objectId' in value &&
      'updatedAt' in value &&
      typeof value.objectId === 'string' &&
      typeof value.updatedAt === 'string',
    'must be a user',
  )
  .describe(
    'A JSON object that always holds the strings `objectId` and `updatedAt`. The rest: [the user object](api.md#the-user-object).',
  );
