/** Why we close a socket: codes of RFC 6455 and those that clients know. 4100 and 4103 tell leancloud-realtime not to come back. */
export const CLOSE = {
  restart: 1012,
  malformed: 1007,
  internal: 1011,
  unknownApplication: 4100,
  invalidLogin: 4103,
  readTimeout: 4107,
  loginTimeout: 4108,
  conflict: 4111,
  tooFast: 4116,
} as const;

export const UNKNOWN_APPLICATION = 'There is no such application.';
