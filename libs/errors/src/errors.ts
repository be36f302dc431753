/** How loudly an error is logged where it happens. */
export type ErrorLogLevel = 'debug' | 'warn' | 'error';

interface ErrorDefinition {
  /** The integer `code` of the answer's body, as client SDKs know it. */
  readonly code: number;
  readonly status: number;
  readonly message: string;
  readonly logLevel?: ErrorLogLevel;
  /** Sent as `Retry-After`, in seconds. */
  readonly retryAfterSeconds?: number;
}

const table = {
  INTERNAL: { code: 1, status: 500, message: 'Internal server error. No information available.', logLevel: 'error' },
  NOT_SUPPORTED: { code: 1, status: 400, message: 'This server does not support the request.' },
  NOT_FOUND: { code: 101, status: 404, message: "Class or object doesn't exists." },
  INVALID_QUERY: { code: 102, status: 400, message: 'Invalid query.' },
  INVALID_KEY_NAME: {
    code: 105,
    status: 400,
    message: "Invalid key name. Keys are case-sensitive and 'a-zA-Z0-9_' are the only valid characters.",
  },
  MALFORMED_JSON: { code: 107, status: 400, message: 'Malformed json object. A json dictionary is expected.' },
  INCORRECT_TYPE: { code: 111, status: 400, message: 'Field set to incorrect type.' },
  OBJECT_TOO_LARGE: { code: 116, status: 400, message: 'The object is too large.' },
  READ_ONLY_KEY: { code: 117, status: 400, message: 'The key is read only.' },
  CLIENT_NOT_ALLOWED: { code: 119, status: 400, message: "That operation isn't allowed for clients." },
  INVALID_NESTED_KEY: { code: 121, status: 400, message: "Nested keys must not contain '$' or '.'." },
  INVALID_ACL: { code: 123, status: 400, message: 'Invalid ACL.' },
  INVALID_EMAIL: { code: 125, status: 400, message: 'The email address was invalid.' },
  INVALID_PHONE: { code: 127, status: 400, message: 'The mobile phone number was invalid.' },
  UNIQUE_FIELD_TAKEN: {
    code: 137,
    status: 400,
    message: 'A unique field was given a value that is already taken.',
  },
  USERNAME_MISSING: { code: 200, status: 400, message: 'Username is missing or empty' },
  PASSWORD_MISSING: { code: 201, status: 400, message: 'Password is missing or empty.' },
  USERNAME_TAKEN: { code: 202, status: 400, message: 'Username has already been taken.' },
  EMAIL_TAKEN: { code: 203, status: 400, message: 'Email has already been taken.' },
  SESSION_REQUIRED: {
    code: 206,
    status: 403,
    message: 'The user cannot be altered by a client without the session.',
  },
  PASSWORD_MISMATCH: { code: 210, status: 400, message: 'The username and password mismatch.' },
  USER_NOT_FOUND: { code: 211, status: 400, message: 'Could not find user.' },
  PHONE_TAKEN: { code: 214, status: 400, message: 'Mobile phone number has already been taken.' },
  PHONE_UNVERIFIED: { code: 215, status: 400, message: "Mobile phone number isn't verified." },
  EMAIL_UNVERIFIED: { code: 216, status: 400, message: "Email address isn't verified." },
  INVALID_USERNAME: { code: 217, status: 400, message: 'Username must be a non-blank string.' },
  INVALID_PASSWORD: { code: 218, status: 400, message: 'Password must be a non-blank string.' },
  UNAUTHORIZED: { code: 401, status: 401, message: 'Unauthorized.' },
  FORBIDDEN: { code: 403, status: 403, message: 'Forbidden.' },
  HEADERS_TOO_LARGE: { code: 413, status: 431, message: 'The request headers are too large.' },
  PAYLOAD_TOO_LARGE: { code: 413, status: 413, message: 'The request body is too large.' },
  SERVICE_UNAVAILABLE: {
    code: 503,
    status: 503,
    message: 'The service is temporarily unavailable. Please try again.',
    logLevel: 'warn',
    retryAfterSeconds: 1,
  },
} as const satisfies Record<string, ErrorDefinition>;

/** The stable name of an error; callers decide by it, never by text or class. */
export type ErrorName = keyof typeof table;

/** Every error the server can answer, with its wire code and HTTP status (`docs/errors.md` is made from it). */
export const ERRORS: Readonly<Record<ErrorName, ErrorDefinition>> = table;
