import { z } from 'zod';
import { count, ofApp, route, time } from './route.js';
import { isPersonal, MIN_PASSWORD_LENGTH, ROLES } from './shared.js';

const MAX_PASSWORD_LENGTH = 1_024;

/** bcrypt gets its SHA-256, so all of it counts. */
export const newPassword = z
  .string()
  .min(MIN_PASSWORD_LENGTH, `must have at least ${MIN_PASSWORD_LENGTH} characters`)
  .max(MAX_PASSWORD_LENGTH);
const password = z.string().min(1).max(MAX_PASSWORD_LENGTH);
export const operatorName = z.string().regex(/^[^\p{Cc}]{1,100}$/u, 'must be 1 to 100 characters');
/** Compared without regard to case. */
export const operatorAddress = z
  .string()
  .max(254)
  .regex(/^[^\s@\p{Cc}]+@[^\s@\p{Cc}]+$/u, 'must be an e-mail address');
const code = z.string().min(6).max(40);
/** Options for the browser's passkeys, or its reply: JSON of WebAuthn Level 3. */
const webAuthn = z.record(z.string(), z.unknown());
const linkToken = z.string().max(200);
export const operatorId = z.uuid();

/** The application id `*` means all applications. */
export const grant = z.object({ appId: z.string().regex(/^(?:\*|[A-Za-z0-9_-]{1,64})$/), role: z.enum(ROLES) });
export const LANGUAGES = ['en', 'zh'] as const;
export const THEMES = ['auto', 'light', 'dark'] as const;

export const grants = z
  .array(grant)
  .max(500)
  .refine((list) => new Set(list.map(({ appId }) => appId)).size === list.length, 'must name an application once');

/** Null: the preference of the browser. */
const preferences = z.object({
  language: z.enum(LANGUAGES).nullable(),
  timeZone: z.string().max(64).nullable(),
  theme: z.enum(THEMES),
});

const me = preferences.extend({
  id: operatorId,
  name: z.string(),
  address: z.string(),
  isOwner: z.boolean(),
  hasPassword: z.boolean(),
  /** To an account of the OpenID Connect issuer. */
  isConnected: z.boolean(),
  grants: z.array(grant),
});

const session = z.object({
  version: z.string(),
  isSetUp: z.boolean(),
  hasPasswords: z.boolean(),
  issuer: z.string().nullable(),
  operator: me.nullable(),
  /** The end of the session if it is not used any more. Null without a session. */
  endsAt: time.nullable(),
  provenUntil: time.nullable(),
  /** The role needs a second factor, and the operator has none: only the own account is accessible. */
  needsSecondFactor: z.boolean(),
});

export type Session = z.output<typeof session>;

const listedSession = z.object({
  id: z.uuid(),
  isCurrent: z.boolean(),
  createdAt: time,
  usedAt: time,
  endsAt: time,
  network: z.string(),
  browser: z.string(),
});

const secondFactors = z.object({
  hasCodes: z.boolean(),
  recoveryCodes: count,
  passkeys: z.array(z.object({ id: z.string(), name: z.string(), createdAt: time, lastUsedAt: time.nullable() })),
});

/** `newRecoveryCodes`: shown once; null if earlier ones are left. */
const changedFactors = secondFactors.extend({ newRecoveryCodes: z.array(z.string()).nullable() });

const ownPath = z.string().regex(/^\/(?![/\\]).{0,2047}$/, 'must be a path of the console');
const atIssuer = z.object({ url: z.string() });

const proven = { access: 'self', needsProof: true } as const;

export const MAX_SAVED_VIEWS = 200;
const MAX_SEARCH_LENGTH = 4_096;

/** The filters of a list by their names in the page's URL. */
const view = z.strictObject({
  page: z.enum(['devices', 'messages', 'pushes', 'users']),
  name: z
    .string()
    .trim()
    .regex(/^[^\p{Cc}]{1,60}$/u, 'must be 1 to 60 characters'),
  search: z
    .record(z.string(), z.union([z.string(), z.boolean()]))
    .refine((search) => JSON.stringify(search).length <= MAX_SEARCH_LENGTH, 'is too long')
    .refine((search) => !isPersonal(search), 'looks for an address or a number'),
  isShared: z.boolean(),
});
const ofViews = { access: 'users.read', params: ofApp } as const;

export type SavedView = z.output<typeof view>;

export const accessApi = {
  getSession: route({ method: 'GET', path: '/session', access: 'anyone', reply: session }),
  /** Fails with PASSWORD_MISMATCH, SECOND_FACTOR_REQUIRED, SECOND_FACTOR_MISMATCH, or TOO_MANY_REQUESTS. The reply sets the session cookie. */
  signIn: route({
    method: 'POST',
    path: '/sign-in',
    access: 'anyone',
    body: z.strictObject({ address: operatorAddress, password, code: code.optional() }),
    reply: session,
  }),
  beginPasskeySignIn: route({
    method: 'POST',
    path: '/sign-in/passkey/options',
    access: 'anyone',
    isRead: true,
    reply: z.object({ options: webAuthn }),
  }),
  passkeySignIn: route({
    method: 'POST',
    path: '/sign-in/passkey',
    access: 'anyone',
    body: z.strictObject({ response: webAuthn }),
    reply: session,
  }),
  setUp: route({
    method: 'POST',
    path: '/set-up',
    access: 'anyone',
    body: z.strictObject({ token: linkToken, name: operatorName, address: operatorAddress, password: newPassword }),
    reply: session,
  }),
  inspectLink: route({
    method: 'POST',
    path: '/link',
    access: 'anyone',
    isRead: true,
    body: z.strictObject({ token: linkToken }),
    reply: z.object({
      kind: z.enum(['setUp', 'invitation', 'recovery']),
      name: z.string().nullable(),
      address: z.string().nullable(),
      endsAt: time,
    }),
  }),
  /** Ends all sessions of the operator, and signs in. */
  useLink: route({
    method: 'POST',
    path: '/invitation',
    access: 'anyone',
    body: z.strictObject({ token: linkToken, name: operatorName.optional(), password: newPassword }),
    reply: session,
  }),
  /** Only this browser can finish the sign-in, within ten minutes. */
  startOidc: route({
    method: 'POST',
    path: '/oidc/start',
    access: 'anyone',
    isRead: true,
    body: z.strictObject({ to: ownPath.optional() }),
    reply: atIssuer,
  }),
  startOidcProof: route({ method: 'POST', path: '/oidc/proof', access: 'self', isRead: true, reply: atIssuer }),
  connectOidc: route({ method: 'POST', path: '/oidc/connection', ...proven, reply: atIssuer }),
  /** Finishes `startOidc`, `startOidcProof` or `connectOidc`. `response`: the query of the issuer's redirect. */
  finishOidc: route({
    method: 'POST',
    path: '/oidc/callback',
    access: 'anyone',
    body: z.strictObject({ response: z.string().max(8_192) }),
    reply: z.object({ purpose: z.enum(['signIn', 'proof', 'connection']), to: z.string().nullable(), session }),
  }),
  /** Ends the sessions that began at the issuer. */
  disconnectOidc: route({ method: 'DELETE', path: '/me/oidc', ...proven, reply: z.object({}) }),
  signOut: route({ method: 'POST', path: '/sign-out', access: 'self', reply: session }),
  prove: route({
    method: 'POST',
    path: '/proof',
    access: 'self',
    body: z.strictObject({ password, code: code.optional() }),
    reply: session,
  }),
  beginPasskeyProof: route({
    method: 'POST',
    path: '/proof/passkey/options',
    access: 'self',
    isRead: true,
    reply: z.object({ options: webAuthn }),
  }),
  passkeyProof: route({
    method: 'POST',
    path: '/proof/passkey',
    access: 'self',
    body: z.strictObject({ response: webAuthn }),
    reply: session,
  }),
  changeMe: route({
    method: 'PATCH',
    path: '/me',
    access: 'self',
    body: preferences.extend({ name: operatorName }).partial().strict(),
    reply: session,
  }),
  /** Ends the other sessions of the operator. */
  changeMyPassword: route({
    method: 'POST',
    path: '/me/password',
    access: 'self',
    body: z.strictObject({ oldPassword: password, newPassword, code: code.optional() }),
    reply: session,
  }),
  listMyFactors: route({ method: 'GET', path: '/me/second-factors', access: 'self', reply: secondFactors }),
  /** New one-time codes replace those in use once `confirmOneTimeCodes` has a first code. */
  beginOneTimeCodes: route({
    method: 'POST',
    path: '/me/one-time-codes',
    ...proven,
    reply: z.object({ secret: z.string(), uri: z.string() }),
  }),
  confirmOneTimeCodes: route({
    method: 'POST',
    path: '/me/one-time-codes/confirm',
    ...proven,
    body: z.strictObject({ code: z.string().regex(/^\d{6}$/, 'must have six digits') }),
    reply: changedFactors,
  }),
  removeOneTimeCodes: route({
    method: 'DELETE',
    path: '/me/one-time-codes',
    ...proven,
    reply: secondFactors,
  }),
  renewRecoveryCodes: route({
    method: 'POST',
    path: '/me/recovery-codes',
    ...proven,
    reply: changedFactors,
  }),
  beginPasskey: route({
    method: 'POST',
    path: '/me/passkeys/options',
    ...proven,
    reply: z.object({ options: webAuthn }),
  }),
  addPasskey: route({
    method: 'POST',
    path: '/me/passkeys',
    ...proven,
    body: z.strictObject({ name: operatorName, response: webAuthn }),
    reply: changedFactors,
  }),
  removePasskey: route({
    method: 'DELETE',
    path: '/me/passkeys/:passkeyId',
    ...proven,
    params: z.object({ passkeyId: z.string().regex(/^[A-Za-z0-9_-]{1,1364}$/) }),
    reply: secondFactors,
  }),
  listMySessions: route({
    method: 'GET',
    path: '/me/sessions',
    access: 'self',
    reply: z.object({ items: z.array(listedSession) }),
  }),
  endMySession: route({
    method: 'DELETE',
    path: '/me/sessions/:sessionId',
    access: 'self',
    params: z.object({ sessionId: z.uuid() }),
    reply: z.object({}),
  }),
  listViews: route({
    method: 'GET',
    path: '/apps/:appId/views',
    ...ofViews,
    reply: z.object({ items: z.array(view.extend({ id: z.uuid(), isOwn: z.boolean() })) }),
  }),
  /** Replaces an own view of the same page and name. Sharing needs `users.write`. NO_EFFECT beyond `MAX_SAVED_VIEWS` of all applications. */
  saveView: route({ method: 'PUT', path: '/apps/:appId/views', ...ofViews, body: view, reply: z.object({}) }),
  /** One's own; with `settings.write` also a shared one. */
  deleteView: route({
    method: 'DELETE',
    path: '/apps/:appId/views/:viewId',
    ...ofViews,
    params: ofApp.extend({ viewId: z.uuid() }),
    reply: z.object({}),
  }),
};
