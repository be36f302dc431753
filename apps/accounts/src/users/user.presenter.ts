import type { JsonObject, VisibleUser } from '#contracts';
import type { UserRow } from './user.row.js';

/** The key by which a mini program's platform signs what concerns the user: its documentation forbids to hand it to clients. */
const SERVER_ONLY = 'session_key';

/** How a user is looked at. */
export interface UserView {
  /** The user's own session, the master key, or anybody else. */
  readonly viewer: 'owner' | 'master' | 'other';
  /** Given only in the replies that return a token (specification, User, sessionToken). */
  readonly sessionToken?: string;
  readonly hideContact?: boolean;
  /** Show the ACL to others as well (`returnACL=true`). */
  readonly returnAcl?: boolean;
}

/** The public JSON of a user. An allow-list: what is not named here never leaves the service. */
export function presentUser(user: UserRow, view: UserView): VisibleUser {
  return {
    ...user.fields,
    ...(view.sessionToken === undefined ? {} : { sessionToken: view.sessionToken }),
    objectId: user.objectId,
    username: user.username,
    emailVerified: user.emailVerified,
    mobilePhoneVerified: user.mobilePhoneVerified,
    ...presentContact(user, view),
    ...presentAuthData(user, view),
    ...presentAcl(user, view),
    createdAt: user.createdAt.toISOString(),
    updatedAt: user.updatedAt.toISOString(),
  };
}

function presentContact(user: UserRow, { viewer, hideContact }: UserView): JsonObject {
  if (viewer === 'other' && hideContact === true) return {};
  return {
    ...(user.email === null ? {} : { email: user.email }),
    ...(user.mobilePhoneNumber === null ? {} : { mobilePhoneNumber: user.mobilePhoneNumber }),
  };
}

/** Platform tokens are for the user alone, and for its servers. */
function presentAuthData({ identities }: UserRow, { viewer }: UserView): JsonObject {
  if (identities === null || viewer === 'other') return {};
  return {
    authData: Object.fromEntries(
      [...identities].map(([platform, { entry }]) => [platform, presentEntry(entry, viewer)]),
    ),
  };
}

function presentEntry(entry: JsonObject, viewer: UserView['viewer']): JsonObject {
  return viewer === 'master'
    ? entry
    : Object.fromEntries(Object.entries(entry).filter(([name]) => name !== SERVER_ONLY));
}

function presentAcl(user: UserRow, { viewer, returnAcl }: UserView): JsonObject {
  return user.acl === null || (viewer === 'other' && returnAcl !== true) ? {} : { ACL: user.acl };
}
