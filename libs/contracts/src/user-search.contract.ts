import { z } from 'zod';
import { lockoutState } from './accounts.contract.js';
import { appId, daysOfApp } from './application.schema.js';
import { jsonObject, rpc } from './messages.schema.js';
import { objectId } from './objects.contract.js';
import { platformKind, platformName, visibleUser } from './user.schema.js';

export const MAX_FOUND_USERS = 1_000;
/** Up to this number the total of a search is exact, but for a frequent text in the mode `contains`. */
export const MAX_EXACT_TOTAL = 10_000;
export const MAX_USERS_WITHOUT_SEARCH_INDEX = 20_000;
/** Minimum number of characters for searches in the mode `contains`: an index of trigrams finds no shorter text. */
export const MIN_CONTAINED_CHARACTERS = 3;
const MAX_TEXT_LENGTH = 255;
/** A username that is an e-mail address or a phone number, also for PostgreSQL. Operators who see neither see it masked. */
export const CONTACT_NAME = /^(?:.+@|\+?[0-9]{7,}$)/s;

const count = z.number().int().min(0);
/** `isExact` false: an estimate. */
const boundedCount = z.object({ value: count, isExact: z.boolean() });

export type BoundedCount = z.output<typeof boundedCount>;

/** The place of a user in an order: its `createdAt` or lower-case username, and its id. */
const place = z.object({ key: z.string().max(MAX_TEXT_LENGTH), objectId });

const filters = z.object({
  emailVerified: z.boolean().optional(),
  phoneVerified: z.boolean().optional(),
  platform: platformName.optional(),
  hasPassword: z.boolean().optional(),
  ids: z.array(objectId).max(MAX_FOUND_USERS).optional(),
  /** Is locked out now. At most 1,000 locked users are considered, those whose lock ends first. */
  locked: z.literal(true).optional(),
  createdFrom: z.iso.datetime().optional(),
  createdTo: z.iso.datetime().optional(),
});

const foundUser = z.object({
  objectId,
  username: z.string(),
  email: z.string().nullable(),
  emailVerified: z.boolean().nullable(),
  mobilePhoneNumber: z.string().nullable(),
  mobilePhoneVerified: z.boolean(),
  hasPassword: z.boolean(),
  platforms: z.array(z.string()),
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
  lockedUntil: z.iso.datetime().nullable(),
  fields: jsonObject.optional(),
});

export type FoundUser = z.output<typeof foundUser>;

const searchIndex = z.object({
  state: z.enum(['off', 'building', 'ready', 'failed', 'removing']),
  problem: z.string().nullable(),
  progress: z.object({ phase: z.string(), percent: z.number().min(0).max(100).nullable() }).nullable(),
  bytes: count,
  isContainsPossible: z.boolean(),
});

const ofApplication = z.object({ appId });

/** For operators, available like `applicationsRpc`. They fail with NOT_FOUND where there is no such application. */
export const userSearchRpc = {
  /** Ignores the case of ASCII letters, + and 86 of phone numbers; ids by prefix. INVALID_QUERY, QUERY_TIMED_OUT (3 s), SEARCH_INDEX_REQUIRED. */
  search: rpc(
    'accounts.searchUsers',
    z.object({
      appId,
      text: z.string().min(1).max(MAX_TEXT_LENGTH).optional(),
      in: z.enum(['any', 'username', 'email', 'phone', 'id']).default('any'),
      mode: z.enum(['prefix', 'contains']).default('prefix'),
      /** `text` finds no user by a username that is a `CONTACT_NAME`. */
      withoutContactNames: z.boolean().optional(),
      filters: filters.default({}),
      where: jsonObject.optional(),
      order: z.enum(['newest', 'oldest', 'username']).default('newest'),
      /** Add `fields`. The page ends early where the fields together exceed 8 MiB. */
      withFields: z.boolean().optional(),
      after: place.optional(),
      limit: z.number().int().min(1).max(MAX_FOUND_USERS),
    }),
    z.object({
      users: z.array(foundUser),
      next: place.nullable(),
      /** Of all pages, exact up to 10,000, for a part of a text up to 2,000; can be null on pages after the first. */
      total: boundedCount.nullable(),
    }),
  ),
  /** A user with what its public JSON does not say. Fails with USER_NOT_FOUND. */
  describe: rpc(
    'accounts.describeUser',
    z.object({ appId, userId: objectId }),
    z.object({
      user: visibleUser,
      hasPassword: z.boolean(),
      /** Inherited ones included. */
      roles: z.array(z.string()),
      /** In alphabetical order of the platforms. Tokens of the platforms are left out. */
      linkedAccounts: z.array(
        z.object({
          platform: z.string(),
          kind: platformKind.nullable(),
          uid: z.string(),
          isVerified: z.boolean(),
        }),
      ),
      lockout: lockoutState,
    }),
  ),
  count: rpc(
    'accounts.countUsers',
    ofApplication,
    z.object({
      total: boundedCount,
      createdLastDay: boundedCount,
      createdLastWeek: boundedCount,
      /** Users and names that are locked out now; exact below 1,000. */
      locked: boundedCount,
    }),
  ),
  /** `signUps` leaves deleted users out. `logins` is approximate: see `DailyCounts`. Fails with QUERY_TIMED_OUT after 3 seconds. */
  countByDay: rpc(
    'accounts.countByDay',
    daysOfApp,
    z.object({ days: z.array(z.object({ day: z.iso.date(), signUps: count, logins: count })) }),
  ),
  getIndex: rpc('accounts.getSearchIndex', ofApplication, searchIndex),
  /** Replies once the request is stored; the build follows beside the traffic. */
  addIndex: rpc('accounts.addSearchIndex', ofApplication, z.object({})),
  removeIndex: rpc('accounts.removeSearchIndex', ofApplication, z.object({})),
};
