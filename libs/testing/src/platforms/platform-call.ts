import { randomBytes } from 'node:crypto';

/** A request as a platform receives it. */
export interface PlatformCall {
  readonly method: string;
  /** Without the prefix under which the platform stands on the server. */
  readonly path: string;
  /** The address as it was asked for, query and all. */
  readonly target: string;
  readonly host: string;
  readonly port: string;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

/** The JSON answer of a platform. */
export interface PlatformReply {
  readonly status?: number;
  readonly body: unknown;
}

/** A platform that answers as its public documentation says. */
export interface StandInPlatform {
  /** The credentials with which an application has accounts verified: the fields of `gatepost platforms set`. */
  readonly credentials: Readonly<Record<string, string>>;
  answer(call: PlatformCall): PlatformReply | Promise<PlatformReply>;
}

export const NOT_FOUND: PlatformReply = { status: 404, body: { error: 'not found' } };

/** A random token, code, key or secret that no server knows. */
export function randomText(): string {
  return randomBytes(18).toString('base64url');
}
