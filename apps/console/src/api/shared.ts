// The page runs this file too, so it imports no package.

/** For one application or, with `deployment.`, `operators.`, `apps.` and `deadLetters.`, for the deployment. */
export const PERMISSIONS = [
  'apps.create',
  'audit.read',
  'deadLetters.write',
  'devices.export',
  'devices.read',
  'devices.write',
  'health.read',
  'keys.rotate',
  'messages.export',
  'messages.read',
  'messages.retry',
  'operators.write',
  'permissions.write',
  'platforms.write',
  'pushes.cancel',
  'pushes.read',
  'pushes.send',
  'pushes.test',
  'roles.read',
  'roles.write',
  'settings.read',
  'settings.write',
  'templates.write',
  'users.acl',
  'users.contact',
  'users.delete',
  'users.export',
  'users.read',
  'users.write',
] as const;

export type Permission = (typeof PERMISSIONS)[number];

/** Text of NO_EFFECT for a conflict with another operator's change. The page translates it. */
export const CHANGED_SINCE = 'The object has changed since, so nothing was written.';

export const MIN_PASSWORD_LENGTH = 12;

/** Roles for one application, or for all. An owner has all permissions without a grant. */
export const ROLES = ['developer', 'support', 'viewer'] as const;

export type Role = (typeof ROLES)[number];

const VIEWER: readonly Permission[] = [
  'audit.read',
  'devices.read',
  'health.read',
  'messages.read',
  'pushes.read',
  'roles.read',
  'settings.read',
  'users.read',
];

const SUPPORT: readonly Permission[] = [...VIEWER, 'messages.retry', 'pushes.test', 'users.contact', 'users.write'];

const DEVELOPER: readonly Permission[] = [
  ...SUPPORT,
  'devices.export',
  'devices.write',
  'keys.rotate',
  'messages.export',
  'permissions.write',
  'platforms.write',
  'pushes.cancel',
  'pushes.send',
  'roles.write',
  'settings.write',
  'templates.write',
  'users.acl',
  'users.delete',
  'users.export',
];

/** `pushes.test`: pushes to own test devices. `users.contact`: e-mail addresses and phone numbers are shown in full. */
export const ROLE_PERMISSIONS: Readonly<Record<Role, readonly Permission[]>> = {
  developer: DEVELOPER,
  support: SUPPORT,
  viewer: VIEWER,
};

export const ALL_APPLICATIONS = '*';

export interface Grant {
  readonly appId: string;
  readonly role: Role;
}

export interface Permitted {
  readonly isOwner: boolean;
  readonly grants: readonly Grant[];
}

/** Empty without a grant. With `*`: those of a grant for any application, for pages of the whole deployment. */
export function permissionsFor({ isOwner, grants }: Permitted, appId: string): readonly Permission[] {
  if (isOwner) return PERMISSIONS;
  const counted = grants.filter(
    (grant) => appId === ALL_APPLICATIONS || grant.appId === appId || grant.appId === ALL_APPLICATIONS,
  );
  return [...new Set(counted.flatMap(({ role }) => ROLE_PERMISSIONS[role]))];
}

/** Whether a text is like an address or a number: the page keeps it in the history of its tab, and in no URL. */
export function looksPersonal(text: string): boolean {
  return /@|\d{5,}/.test(text);
}

type Search = Readonly<Record<string, boolean | string | undefined>>;

/** Whether the filters of a list look for an address or a number. `user` is an id. */
export function isPersonal({ user, ...search }: Search): boolean {
  const { q, in: field, where } = search;
  const isContact = (field === 'email' || field === 'phone') && q !== undefined;
  const namesContact = /"(?:email|mobilePhoneNumber)"/.test(String(where));
  return isContact || namesContact || looksPersonal(Object.values(search).join(' ')) || String(user).includes('@');
}

export function pathOf(path: string, params: Readonly<Record<string, unknown>>): string {
  return path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(String(params[name])));
}
