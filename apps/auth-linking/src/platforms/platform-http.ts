import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { z } from 'zod';
import { type JsonObject, type JsonValue, MAX_UID_LENGTH, type PlatformKind } from '#contracts';
import { type OutboundAnswer, OutboundClient, OutboundError, type OutboundRequest } from '#outbound';
import { AUTH_LINKING_CONFIG, type AuthLinkingConfig } from '../auth-linking.config.js';
import { unavailable } from './platform.rules.js';

/** A platform is given up after this time, so that the answer to the client comes within three seconds. */
export const PLATFORM_TIMEOUT_MS = 2_500;
const MAX_ANSWER_BYTES = 65_536;

type Fields = Readonly<Record<string, string>>;

/** What a platform answered: any status below 500 that is no redirect, for many say with 400 why they refuse. */
interface PlatformAnswer {
  readonly status: number;
  readonly body: JsonObject;
}

/** The time that one verification has, over all requests that it makes. */
export function verificationDeadline(): AbortSignal {
  return AbortSignal.timeout(PLATFORM_TIMEOUT_MS);
}

/**
 * One platform's HTTP interface. Every call throws SERVICE_UNAVAILABLE where there is no JSON object as an answer within the
 * deadline; redirects are not followed, and nothing is tried twice: codes are good for one use.
 */
export class PlatformEndpoint {
  constructor(
    readonly kind: PlatformKind,
    private readonly baseUrl: string,
    private readonly client: OutboundClient,
  ) {}

  /** The full address, for platforms that want it signed. */
  url(path: string, query: Fields = {}): URL {
    const url = new URL(`${this.baseUrl}${path}`);
    url.search = new URLSearchParams(query).toString();
    return url;
  }

  get(url: URL, headers: Fields = {}, deadline = verificationDeadline()): Promise<PlatformAnswer> {
    return this.send(url, { method: 'GET', headers }, deadline);
  }

  postForm(url: URL, form: Fields, deadline = verificationDeadline()): Promise<PlatformAnswer> {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    return this.send(url, { method: 'POST', headers, body: new URLSearchParams(form).toString() }, deadline);
  }

  postJson(url: URL, json: JsonObject): Promise<PlatformAnswer> {
    const headers = { 'content-type': 'application/json' };
    return this.send(url, { method: 'POST', headers, body: JSON.stringify(json) }, verificationDeadline());
  }

  private async send(url: URL, options: OutboundRequest, deadline: AbortSignal): Promise<PlatformAnswer> {
    const { status, text } = await this.exchange(url, options, deadline);
    if (status >= 500 || status < 200 || (status >= 300 && status < 400) || status === 429) {
      throw unavailable(this.kind, `status ${status}`);
    }
    const body = parseObject(text);
    if (body === undefined) throw unavailable(this.kind, `status ${status} without a JSON object`);
    return { status, body };
  }

  private async exchange(url: URL, options: OutboundRequest, deadline: AbortSignal): Promise<OutboundAnswer> {
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

/** Connections to one platform; more requests at once wait for one. */
const MAX_CONNECTIONS = 64;

/** The one way out to platforms: only to configured addresses, never into networks of our own, bounded in time and size. */
@Injectable()
export class PlatformHttp implements OnApplicationShutdown {
  readonly #internalNetworks: readonly string[];
  readonly #urls: ReadonlyMap<string, string>;
  readonly #clients: OutboundClient[] = [];

  constructor(@Inject(AUTH_LINKING_CONFIG) config: Pick<AuthLinkingConfig, 'platformUrls' | 'internalNetworks'>) {
    this.#urls = config.platformUrls;
    this.#internalNetworks = config.internalNetworks;
  }

  /** Where the platform answers: `defaultUrl`, unless the configuration has another address. */
  endpoint(kind: PlatformKind, defaultUrl: string): PlatformEndpoint {
    const url = this.#urls.get(kind) ?? defaultUrl;
    // One each, even behind one address: a platform that hangs takes no connection from the others.
    const client = new OutboundClient({
      internalNetworks: this.#internalNetworks,
      timeoutMs: PLATFORM_TIMEOUT_MS,
      maxAnswerBytes: MAX_ANSWER_BYTES,
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

/** An id in a platform's answer. */
export const answeredId = z.string().min(1).max(MAX_UID_LENGTH);
/** What platforms give only to some apps, and some leave empty: a union id, a key, a token. */
export const answeredOptionalText = answeredId.optional().catch(undefined);
/** An error code in a platform's answer. What is no code is an error all the same. */
export const answeredErrorCode = z
  .union([z.number().transform(String), z.string().max(MAX_ERROR_CODE_LENGTH)])
  .optional()
  .catch('unreadable');
