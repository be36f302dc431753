import { z } from 'zod';

export const MAIL_KINDS = ['verifyEmail', 'resetPassword'] as const;

export type MailKind = (typeof MAIL_KINDS)[number];

export const MAX_LANGUAGES = 6;

export const languageTag = z
  .string()
  .regex(/^[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8}){0,3}$/, 'must be a language such as en or zh-CN');

export const languages = z.array(languageTag).max(MAX_LANGUAGES);

/** The context under which the token of a mail is sealed: the token does not open for another user. */
export function sealedTokenContext({ appId, userId }: Readonly<Record<'appId' | 'userId', string>>): string {
  return `mail to ${userId} of ${appId}`;
}

const OBJECT_ID = /^[0-9A-Za-z_-]{1,64}$/;
const ROLE = /^role:[A-Za-z0-9_]{1,128}$/;

/** Ids of imported objects have any form. `__proto__` is refused, because as the key of an ACL it would set a prototype. */
export function isObjectId(text: string): boolean {
  return OBJECT_ID.test(text) && text !== '__proto__';
}

/** Whether a text names a user by id, or a role as `role:<name>`, in an ACL or a class permission (specification, Access control list). */
export function isUserOrRole(text: string): boolean {
  return isObjectId(text) || ROLE.test(text);
}

export const MAX_GRANTEES = 100;

const grantee = z.string().refine(isUserOrRole, 'must be everyone, users, nobody, user ids, or role:<name>');

/** Everyone, logged-in users, or the listed users and roles. An empty list admits the master key only. */
export const classPermission = z.union([z.literal('everyone'), z.literal('users'), z.array(grantee).max(MAX_GRANTEES)]);

export type ClassPermission = z.output<typeof classPermission>;

const open = classPermission.default('everyone');
const closed = classPermission.default([]);

/** Permissions on a class as a whole, independent of the ACLs of its objects (docs/api.md, Class permissions). */
export const classPermissions = z.object({
  _User: z.object({ find: closed, get: open, create: open, update: open, delete: open }).prefault({}),
  _Role: z.object({ find: open, get: open, create: open, update: open, delete: open }).prefault({}),
  _Installation: z.object({ find: closed, get: open, create: open, update: open, delete: closed }).prefault({}),
});

export type ClassPermissions = z.output<typeof classPermissions>;
export type ClassName = keyof ClassPermissions;
export type ClassOperation = keyof ClassPermissions[ClassName];

export const CLASS_NAMES = Object.keys(classPermissions.shape) as ClassName[];
export const CLASS_OPERATIONS = ['find', 'get', 'create', 'update', 'delete'] as const satisfies ClassOperation[];

const MAX_TEST_PHONES = 100;

const testPhones = z
  .record(
    z.string().regex(/^\+[1-9]\d{5,14}$/, 'numbers must have the form +8613800000000'),
    z.string('codes must have 6 digits').regex(/^\d{6}$/, 'codes must have 6 digits'),
    'must be a JSON object of numbers and codes, such as {"+8613800000000":"123456"}',
  )
  .refine((phones) => Object.keys(phones).length <= MAX_TEST_PHONES, `at most ${MAX_TEST_PHONES} numbers`);

const MAX_PAGE_URL_LENGTH = 1_000;

const PAGE_URL_FORM = 'must be a URL such as https://example.com/verify without a user and a fragment, or empty';

/** A page of the application itself; empty: none. URLs with credentials are refused, because every recipient of a mail would see them. */
const pageUrl = z
  .string(PAGE_URL_FORM)
  .max(MAX_PAGE_URL_LENGTH, `must have at most ${MAX_PAGE_URL_LENGTH} characters`)
  .refine((url) => url === '' || isPageUrl(url), PAGE_URL_FORM);

const anyUrl = z.url({ protocol: /^https?$/ });

function isPageUrl(url: string): boolean {
  return anyUrl.safeParse(url).success && !/^[^/]*\/\/[^/]*@/.test(url) && !url.includes('#');
}

const FORWARD_URL_FORM =
  'must be a URL such as https://app.example.com without a user, a query and a fragment, or empty';

const forwardUrl = z
  .string(FORWARD_URL_FORM)
  .max(MAX_PAGE_URL_LENGTH, `must have at most ${MAX_PAGE_URL_LENGTH} characters`)
  .refine((url) => url === '' || isPlainUrl(url), FORWARD_URL_FORM);

function isPlainUrl(url: string): boolean {
  const hasUser = /^[^/]*\/\/[^/]*@/.test(url);
  return /^https?:\/\/[^/\s\\]/.test(url) && URL.canParse(url) && !hasUser && !/[?#]/.test(url);
}

/** A `*` in the middle stands for one segment, a `*` at the end for one or more. */
const FORWARD_PATHS = [
  '/1.1/classes/*',
  '/1.1/scan/*',
  '/1.1/cloudQuery',
  '/1.1/search/select',
  '/1.1/files',
  '/1.1/files/*',
  '/1.1/fileTokens',
  '/1.1/fileCallback',
  '/1.1/functions/*',
  '/1.1/call/*',
  '/1.1/LiveQuery/*',
  '/1.1/rtm/*',
  '/1.1/leaderboard/*',
  '/1.1/statuses',
  '/1.1/statuses/*',
  '/1.1/subscribe/*',
  '/1.1/friendship',
  '/1.1/friendship/*',
  '/1.1/users/*/friendship/*',
  '/1.1/users/*/followers',
  '/1.1/users/*/followees',
  '/1.1/users/*/followersAndFollowees',
  '/1.1/users/friendshipRequests',
  '/1.1/users/friendshipRequests/*',
  '/1.1/users/self/friendBlocklist',
  '/1.1/users/self/friendBlocklist/*',
  '/1.1/users/self/friends',
  '/1.1/requestCaptcha',
  '/1.1/verifyCaptcha',
];
const MAX_FORWARD_PATHS = 100;

const forwardPath = z
  .string()
  .max(200)
  .regex(
    /^\/1\.1(?:\/(?:\*|[\w:@~-][\w.:@~-]*))+$/,
    'paths must begin with /1.1/, and * stands for a whole part, such as /1.1/classes/*',
  );

const flag = z.boolean('must be true or false');

export const applicationSettings = z.object({
  verifyEmailOnSignUp: flag.default(false).describe('A new or changed e-mail address starts as unverified.'),
  forbidUnverifiedEmailLogin: flag
    .default(false)
    .describe('Refuse logins of users with an unverified e-mail address (216).'),
  forbidUnverifiedPhoneLogin: flag
    .default(false)
    .describe('Refuse logins of users with an unverified phone number (215).'),
  reloginAfterPasswordChange: flag.default(true).describe('A password change issues a new session token.'),
  requireOldPassword: flag.default(false).describe('A password change requires the old password.'),
  userQueryEnabled: flag
    .default(false)
    .describe('Everyone may query users: a short form of the class permission _User.find.'),
  hideContact: flag.default(false).describe('Hide e-mail address and phone number from other users.'),
  quietProfile: flag.default(false).describe('No response reveals whether an account exists.'),
  allowClientPush: flag.default(false).describe('Allow pushes with the application key.'),
  requireVerifiedPlatforms: flag
    .default(false)
    .describe('Refuse accounts of built-in platforms that cannot be verified.'),
  verifyEmailPage: pageUrl
    .default('')
    .describe('Page of the application that verification mails link to, with ?token=…; empty: the built-in page.'),
  resetPasswordPage: pageUrl
    .default('')
    .describe('Page of the application that password reset mails link to, with ?token=…; empty: the built-in page.'),
  mailLanguage: languageTag.default('en').describe("Language of mails where the recipient's language is unknown."),
  testPhones: testPhones
    .default({})
    .describe('Numbers with a fixed code, to which no message is sent: {"+8613800000000":"123456"}.'),
  forwardUrl: forwardUrl
    .default('')
    .describe('Server that gets the requests of forwardPaths that Gatepost does not serve; empty: none.'),
  forwardPaths: z
    .array(forwardPath, 'must be a JSON list of paths, such as ["/1.1/classes/*"]')
    .max(MAX_FORWARD_PATHS, `at most ${MAX_FORWARD_PATHS} paths`)
    .default(FORWARD_PATHS)
    .describe('Paths that are forwarded, a JSON list: ["/1.1/classes/*"]. Classes of Gatepost are never forwarded.'),
});

export type ApplicationSettings = z.output<typeof applicationSettings>;
export const SETTING_NAMES = Object.keys(applicationSettings.shape) as (keyof ApplicationSettings)[];

/** Settings whose value is sealed at rest, and never shown or logged. An empty value removes the secret. */
export const secretSettings = z.object({
  forwardSecret: z
    .string()
    .regex(
      /^(?:[\x21-\x7e]{32,1024})?$/,
      'must have 32 to 1,024 printable ASCII characters without spaces, or be empty',
    )
    .describe('Secret that signs the identity of forwarded requests (X-Gatepost-Identity); empty: no identity.'),
});

export type SecretSettingName = keyof z.output<typeof secretSettings>;
export const SECRET_SETTING_NAMES = Object.keys(secretSettings.shape) as SecretSettingName[];

export function settingText(value: ApplicationSettings[keyof ApplicationSettings]): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** The text of a key or an entry of a record, which Zod puts below the text of the record, says more. */
export function settingProblem({ issues: [issue] }: z.ZodError): string {
  const inner = issue?.code === 'invalid_key' || issue?.code === 'invalid_element' ? issue.issues[0] : undefined;
  return (inner ?? issue)?.message ?? 'invalid value';
}

/** Whether neither the console nor the audit log shows the value of a setting. The codes of test numbers let anyone log in as their users. */
export function isConcealedSetting(name: string): boolean {
  return name === 'testPhones' || SECRET_SETTING_NAMES.some((secret) => secret === name);
}

export const appId = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, 'must be 1 to 64 letters, digits, _ or -');

/** Counts by day of UTC are asked for from this day on. The reply leaves days without anything out. */
export const daysOfApp = z.object({ appId, from: z.iso.date() });

const oldKey = z.object({
  kind: z.enum(['app', 'master']),
  key: z.string(),
  replacedAt: z.iso.datetime(),
  /** Null: until it is revoked. */
  acceptedUntil: z.iso.datetime().nullable(),
});

export type OldKey = z.output<typeof oldKey>;

export const application = z.object({
  id: z.string(),
  name: z.string(),
  appKey: z.string(),
  masterKey: z.string(),
  oldKeys: z.array(oldKey).default([]),
  settings: applicationSettings,
  classPermissions: classPermissions.prefault({}),
  /** Only for services, in the reply of `accounts.findApplication`. */
  forwardSecret: z.string().optional(),
  secretsSet: z.array(z.string()).default([]),
  createdAt: z.iso.datetime(),
});

export type Application = z.output<typeof application>;
