import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { z } from 'zod';
import {
  type JsonObject,
  type JsonValue,
  MAX_UID_LENGTH,
  type PlatformCredentials,
  type PlatformKind,
} from '#contracts';
import { type OutboundAnswer, OutboundClient, OutboundError, type OutboundRequest } from '#outbound';
import { AUTH_LINKING_CONFIG, type AuthLinkingConfig } from '../auth-linking.config.js';
import { type Claim, type Proof, unavailable } from './platform.rules.js';

/** The limit for one verification, so that the client gets its response within three seconds. */
export const PLATFORM_TIMEOUT_MS = 2_500;
const MAX_RESPONSE_BYTES = 65_536;

type Fields = Readonly<Record<string, string>>;

/** A response with any status below 500 except redirects and 429: many platforms send the reason of a refusal with 400. */
interface PlatformResponse {
  readonly status: number;
  readonly body: JsonObject;
}

export function verificationDeadline(): AbortSignal {
  return AbortSignal.timeout(PLATFORM_TIMEOUT_MS);
}

/** Throws SERVICE_UNAVAILABLE without a JSON object in time. Follows no redirect and retries nothing, because codes work once. */
export class PlatformEndpoint {
  constructor(
    readonly kind: PlatformKind,
    private readonly baseUrl: string,
    private readonly client: OutboundClient,
  ) {}

  url(path: string, query: Fields = {}): URL {
    const url = new URL(`${this.baseUrl}${path}`);
    url.search = new URLSearchParams(query).toString();
    return url;
  }

  get(url: URL, headers: Fields = {}, deadline = verificationDeadline()): Promise<PlatformResponse> {
    return this.#send(url, { method: 'GET', headers }, deadline);
  }

  postForm(url: URL, form: Fields, deadline = verificationDeadline()): Promise<PlatformResponse> {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    return this.#send(url, { method: 'POST', headers, body: new URLSearchParams(form).toString() }, deadline);
  }

  postJson(url: URL, json: JsonObject): Promise<PlatformResponse> {
    const headers = { 'content-type': 'application/json' };
    return this.#send(url, { method: 'POST', headers, body: JSON.stringify(json) }, verificationDeadline());
  }

  async #send(url: URL, options: OutboundRequest, deadline: AbortSignal): Promise<PlatformResponse> {
    const { status, text } = await this.#exchange(url, options, deadline);
    if (status >= 500 || status < 200 || (status >= 300 && status < 400) || status === 429) {
      throw unavailable(this.kind, `status ${status}`);
    }
    const body = parseObject(text);
    if (body === undefined) throw unavailable(this.kind, `status ${status} without a JSON object`);
    return { status, body };
  }

  async #exchange(url: URL, options: OutboundRequest, deadline: AbortSignal): Promise<OutboundAnswer> {
    try {
      return await this.client.send(url, options, deadline);
    } catch (error) {
      throw error instanceof OutboundError ? unavailable(this.kind, error.message) : error;
    }
  }
}

function parseObject(text: string): JsonObject | undefined {
  try {
    const value = JSON.parse(text) as JsonValue;
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

export type Verify<Kind extends PlatformKind> = (
  endpoint: PlatformEndpoint,
  claim: Claim,
  credentials: PlatformCredentials<Kind>,
) => Promise<Proof>;

/** The limit per platform; further requests wait for a connection. */
const MAX_CONNECTIONS = 64;

/** The HTTP client for platforms: only configured addresses, no internal networks, limited in time and response size. */
@Injectable()
export class PlatformHttp implements OnApplicationShutdown {
  readonly #internalNetworks: readonly string[];
  readonly #urls: ReadonlyMap<string, string>;
  readonly #clients: OutboundClient[] = [];

  constructor(@Inject(AUTH_LINKING_CONFIG) config: Pick<AuthLinkingConfig, 'platformUrls' | 'internalNetworks'>) {
    this.#urls = config.platformUrls;
    this.#internalNetworks = config.internalNetworks;
  }

  endpoint(kind: PlatformKind, defaultUrl: string): PlatformEndpoint {
    const url = this.#urls.get(kind) ?? defaultUrl;
    // A client for each platform: one that hangs does not use up the connections of the others.
    const client = new OutboundClient({
      internalNetworks: this.#internalNetworks,
      timeoutMs: PLATFORM_TIMEOUT_MS,
      maxAnswerBytes: MAX_RESPONSE_BYTES,
      maxConnections: MAX_CONNECTIONS,
    });
    this.#clients.push(client);
    return new PlatformEndpoint(kind, url, client);
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.close()));
  }
}

const MAX_ERROR_CODE_LENGTH = 255;

export const responseId = z.string().min(1).max(MAX_UID_LENGTH);
/** A union id, key or token, which some platforms omit or leave empty. */
export const responseOptionalText = responseId.optional().catch(undefined);
/** An error code in a response. A value of another type counts as an error too. */
export const responseErrorCode = z
  .union([z.number().transform(String), z.string().max(MAX_ERROR_CODE_LENGTH)])
  .optional()
  .catch('unreadable');
