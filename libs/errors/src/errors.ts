type ErrorLogLevel = 'debug' | 'warn' | 'error';

interface ErrorDefinition {
  /** The integer `code` of the response body; client SDKs decide by it. */
  readonly code: number;
  readonly status: number;
  readonly message: string;
  readonly logLevel?: ErrorLogLevel;
  readonly retryAfterSeconds?: number;
}

const table = {
  INTERNAL: { code: 1, status: 500, message: 'Internal server error. No information available.', logLevel: 'error' },
  ROLE_ACL_REQUIRED: { code: 1, status: 400, message: 'Role ACL is required.' },
  NOT_SUPPORTED: { code: 1, status: 400, message: 'This server does not support the request.' },
  EMAIL_VERIFICATION_OFF: {
    code: 1,
    status: 400,
    message: 'Please enable the option to verify user emails in application settings. Setting: verifyEmailOnSignUp.',
  },
  TOO_MANY_EMAILS: {
    code: 1,
    status: 400,
    message: 'Too many emails to this address. Wait before you request another one.',
    retryAfterSeconds: 60,
  },
  LINK_EXPIRED: { code: 1, status: 400, message: 'The link has expired or was already used. Request a new one.' },
  SMS_TOO_FAST: {
    code: 1,
    status: 400,
    message: 'SMS request too fast(1 request per 10s).',
    retryAfterSeconds: 10,
  },
  NOT_FOUND: { code: 101, status: 404, message: "Class or object doesn't exists." },
  INVALID_QUERY: { code: 102, status: 400, message: 'Invalid query.' },
  SEARCH_INDEX_REQUIRED: {
    code: 102,
    status: 400,
    message: 'A search for a part of a text among this many users needs the search index of the application.',
  },
  INVALID_CLASS_NAME: { code: 103, status: 400, message: 'Invalid class name.' },
  OBJECT_ID_MISSING: { code: 104, status: 400, message: 'Missing object id.' },
  INVALID_KEY_NAME: {
    code: 105,
    status: 400,
    message: "Invalid key name. Keys are case-sensitive and 'a-zA-Z0-9_' are the only valid characters.",
  },
  MALFORMED_POINTER: { code: 106, status: 400, message: 'Malformed pointer.' },
  MALFORMED_JSON: { code: 107, status: 400, message: 'Malformed json object. A json dictionary is expected.' },
  INCORRECT_TYPE: { code: 111, status: 400, message: 'Field set to incorrect type.' },
  INVALID_CHANNEL: {
    code: 112,
    status: 400,
    message:
      "Invalid channel name. A channel name is either an empty string (the broadcast channel) or contains only a-zA-Z0-9_=, '-' or chinese characters.",
  },
  KEY_REQUIRED: { code: 113, status: 400, message: 'Key is required.' },
  INVALID_DEVICE_TOKEN: { code: 114, status: 400, message: 'Invalid device token.' },
  OBJECT_TOO_LARGE: { code: 116, status: 400, message: 'The object is too large.' },
  READ_ONLY_KEY: { code: 117, status: 400, message: 'The key is read only.' },
  CLIENT_NOT_ALLOWED: { code: 119, status: 400, message: "That operation isn't allowed for clients." },
  CLIENT_PUSH_OFF: {
    code: 119,
    status: 403,
    message: 'Clients cannot send pushes. Turn on the setting allowClientPush, or use the master key.',
  },
  INVALID_NESTED_KEY: { code: 121, status: 400, message: "Nested keys must not contain '$' or '.'." },
  INVALID_ACL: { code: 123, status: 400, message: 'Invalid ACL.' },
  QUERY_TIMED_OUT: { code: 124, status: 400, message: 'The query took too long.' },
  BATCH_NOT_RUN: {
    code: 124,
    status: 400,
    message: 'The batch took too long. This request was not run. Send it again.',
  },
  BATCH_OUTCOME_UNKNOWN: {
    code: 124,
    status: 400,
    message:
      'The batch took too long. This request was started, and its outcome is unknown. Read the object before you send the request again.',
  },
  INVALID_EMAIL: { code: 125, status: 400, message: 'The email address was invalid.' },
  INVALID_USER_ID: { code: 126, status: 400, message: 'Invalid user id.' },
  INVALID_PHONE: { code: 127, status: 400, message: 'The mobile phone number was invalid.' },
  INVALID_RELATION: { code: 128, status: 400, message: 'Invalid relation data.' },
  UNIQUE_FIELD_TAKEN: {
    code: 137,
    status: 400,
    message: 'A unique field was given a value that is already taken.',
  },
  INVALID_ROLE_NAME: { code: 139, status: 400, message: 'Invalid role name.' },
  USERNAME_MISSING: { code: 200, status: 400, message: 'Username is missing or empty' },
  PASSWORD_MISSING: { code: 201, status: 400, message: 'Password is missing or empty.' },
  USERNAME_TAKEN: { code: 202, status: 400, message: 'Username has already been taken.' },
  EMAIL_TAKEN: { code: 203, status: 400, message: 'Email has already been taken.' },
  EMAIL_MISSING: { code: 204, status: 400, message: 'Email is missing or empty.' },
  EMAIL_NOT_FOUND: { code: 205, status: 400, message: 'A user with the specified email was not found.' },
  SESSION_REQUIRED: {
    code: 206,
    status: 403,
    message: 'The user cannot be altered by a client without the session.',
  },
  SIGN_UP_ONLY: { code: 207, status: 400, message: 'Users can only be created through sign up.' },
  IDENTITY_TAKEN: { code: 208, status: 400, message: 'An existing account already linked to another user.' },
  SECOND_FACTOR_MISMATCH: { code: 210, status: 400, message: 'The code or the passkey is wrong, or was already used.' },
  PASSWORD_MISMATCH: { code: 210, status: 400, message: 'The username and password mismatch.' },
  USER_NOT_FOUND: { code: 211, status: 400, message: 'Could not find user.' },
  PHONE_MISSING: { code: 212, status: 400, message: 'Mobile phone number is missing or empty.' },
  PHONE_NOT_FOUND: { code: 213, status: 400, message: 'A user with the specified mobile phone number was not found.' },
  PHONE_TAKEN: { code: 214, status: 400, message: 'Mobile phone number has already been taken.' },
  PHONE_UNVERIFIED: { code: 215, status: 400, message: "Mobile phone number isn't verified." },
  EMAIL_UNVERIFIED: { code: 216, status: 400, message: "Email address isn't verified." },
  INVALID_USERNAME: {
    code: 217,
    status: 400,
    message: 'Username must be a non-blank string of at most 255 characters.',
  },
  INVALID_PASSWORD: { code: 218, status: 400, message: 'Password must be a non-blank string.' },
  LOCKED_OUT: {
    code: 219,
    status: 400,
    message:
      'You have exceeded the maximum number of login attempts, please try again later, or consider resetting your password.',
    // The upper bound; the response gives the remaining time of the lock.
    retryAfterSeconds: 900,
  },
  IDENTITY_MISSING: { code: 250, status: 400, message: 'The linked account has no id.' },
  INVALID_IDENTITY: { code: 251, status: 400, message: 'Invalid authData.' },
  INVALID_WEIXIN_IDENTITY: { code: 252, status: 400, message: 'Invalid authData of weixin.' },
  GEO_POINT_QUERY: { code: 302, status: 400, message: 'Invalid GeoPoint query.' },
  NO_EFFECT: { code: 305, status: 400, message: 'No effect on updating/deleting a document.' },
  UNAUTHORIZED: { code: 401, status: 401, message: 'Unauthorized.' },
  FORBIDDEN: { code: 403, status: 403, message: 'Forbidden.' },
  PROOF_REQUIRED: {
    code: 403,
    status: 403,
    message: 'This act needs a proof of identity within the last ten minutes.',
  },
  SECOND_FACTOR_REQUIRED: {
    code: 403,
    status: 403,
    message: 'Enter a one-time code or a recovery code as well, or use a passkey.',
  },
  SECOND_FACTOR_MISSING: {
    code: 403,
    status: 403,
    message: 'This role needs a second factor. Add one in the profile first.',
  },
  PASSWORDS_OFF: {
    code: 403,
    status: 403,
    message: 'Operators of this console sign in by its OpenID Connect issuer only (GATEPOST_CONSOLE_PASSWORDS).',
  },
  OIDC_STATE_INVALID: {
    code: 1,
    status: 400,
    message: 'This sign-in began in another browser, has ended or was already used. Begin again.',
  },
  OIDC_ANSWER_INVALID: { code: 1, status: 400, message: 'The answer of the issuer is not valid. Begin again.' },
  OIDC_DENIED: {
    code: 403,
    status: 403,
    message: 'The issuer has refused the sign-in. Begin again, or ask its administrators for access.',
  },
  OIDC_PROOF_MISSING: {
    code: 403,
    status: 403,
    message:
      'The issuer did not ask for the credentials again, or another account has signed in. Sign in again with the connected account.',
  },
  OIDC_ADDRESS_UNVERIFIED: {
    code: 403,
    status: 403,
    message: 'The issuer has not verified the e-mail address of this account. Verify it there.',
  },
  OIDC_NOT_INVITED: {
    code: 403,
    status: 403,
    message: 'This account has no operator and no open invitation. Ask an owner for one.',
  },
  OIDC_NOT_CONNECTED: {
    code: 403,
    status: 403,
    message:
      'An operator has this e-mail address already. Sign in with the password and connect the account in the profile.',
  },
  OIDC_NO_ROLE: {
    code: 403,
    status: 403,
    message:
      'None of the groups of this account has a role in the console. Ask an owner, or the administrators of the issuer.',
  },
  OPERATOR_DISABLED: { code: 403, status: 403, message: 'This operator is disabled. An owner can enable it.' },
  HEADERS_TOO_LARGE: { code: 413, status: 431, message: 'The request headers are too large.' },
  PAYLOAD_TOO_LARGE: { code: 413, status: 413, message: 'The request body is too large.' },
  TOO_MANY_REQUESTS: { code: 429, status: 429, message: 'Too many requests.', retryAfterSeconds: 60 },
  OIDC_ISSUER_AWAY: {
    code: 503,
    status: 503,
    message: 'The OpenID Connect issuer does not answer. Try again.',
    logLevel: 'warn',
    retryAfterSeconds: 5,
  },
  SERVICE_UNAVAILABLE: {
    code: 503,
    status: 503,
    message: 'The service is temporarily unavailable. Try again.',
    logLevel: 'warn',
    retryAfterSeconds: 1,
  },
  FORWARD_FAILED: {
    code: 1,
    status: 502,
    message: 'The server that the request was forwarded to gave an unusable answer.',
    logLevel: 'warn',
  },
  FORWARD_TIMED_OUT: {
    code: 124,
    status: 504,
    message:
      'The server that the request was forwarded to did not answer in time, and the outcome is unknown. Read the object before you send the request again.',
    logLevel: 'warn',
  },
  FORWARD_LOOP: {
    code: 508,
    status: 508,
    message: 'The request was forwarded before and came back. Set forwardUrl to a server that serves the path itself.',
    logLevel: 'warn',
  },
  SMS_SIGNATURE: { code: 600, status: 400, message: 'Invalid SMS signature.' },
  SMS_TOO_FREQUENT: { code: 601, status: 400, message: "Can't send SMS too frequently." },
  SMS_FAILED: { code: 602, status: 400, message: 'The SMS could not be sent.' },
  INVALID_SMS_CODE: { code: 603, status: 400, message: 'Invalid SMS code.' },
  SMS_TEMPLATE_MISSING: { code: 604, status: 400, message: 'The SMS template was not found.' },
  SMS_TEMPLATE_UNVERIFIED: { code: 605, status: 400, message: 'The SMS template is not verified.' },
  SMS_TEMPLATE_BROKEN: { code: 606, status: 400, message: 'The SMS template could not be rendered.' },
  VALIDATE_TOKEN_MISSING: { code: 608, status: 400, message: 'Missing validate token.' },
  UNKNOWN_QUERY_KEY: { code: 700, status: 400, message: 'Nonexistent query keys.' },
} as const satisfies Record<string, ErrorDefinition>;

/** The stable name of an error. Callers decide by this name, never by text or class. */
export type ErrorName = keyof typeof table;

/** All errors of the API with code and HTTP status, also of endpoints that do not exist yet. `docs/errors.md` is made from it. */
export const ERRORS: Readonly<Record<ErrorName, ErrorDefinition>> = table;

interface AppErrorOptions {
  /** Replaces the text of the table. Clients see it: it must hold no secret and no data of another user. */
  readonly message?: string;
  readonly cause?: unknown;
  readonly retryAfterSeconds?: number;
}

/** A failure with a documented code: the only error class that crosses a process boundary. */
export class AppError extends Error {
  readonly code: number;
  readonly status: number;
  readonly retryAfterSeconds: number | undefined;
  readonly logLevel: ErrorLogLevel;

  constructor(
    readonly errorName: string,
    options: AppErrorOptions & { readonly code?: number; readonly status?: number } = {},
  ) {
    const row = Object.hasOwn(ERRORS, errorName) ? ERRORS[errorName as ErrorName] : ERRORS.INTERNAL;
    super(options.message ?? row.message, options.cause === undefined ? {} : { cause: options.cause });
    this.name = 'AppError';
    this.code = options.code ?? row.code;
    this.status = options.status ?? row.status;
    this.retryAfterSeconds = options.retryAfterSeconds ?? row.retryAfterSeconds;
    this.logLevel = row.logLevel ?? 'debug';
  }

  is(name: ErrorName): boolean {
    return this.errorName === name;
  }
}

/** Creates the named error of the table. Use it for every thrown error: the compiler checks the name. */
export function appError(name: ErrorName, options: AppErrorOptions = {}): AppError {
  return new AppError(name, options);
}

export function isAppError(thrown: unknown, name: ErrorName): thrown is AppError {
  return thrown instanceof AppError && thrown.is(name);
}
