import type { JsonObject, VisibleUser } from '#contracts';
import type { UserRow } from './user.row.js';

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

function presentAcl(user: UserRow, { viewer, returnAcl }: UserView): JsonObject {
  return user.acl === null || (viewer === 'other' && returnAcl !== true) ? {} : { ACL: user.acl };
}
