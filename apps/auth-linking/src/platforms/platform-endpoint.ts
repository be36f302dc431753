import type { JsonObject, JsonValue, PlatformKind } from '#contracts';
import { type OutboundAnswer, type OutboundClient, OutboundError, type OutboundRequest } from '#outbound';
import { unavailable } from './platform-errors.js';

/** A platform is given up after this time, so that the answer to the client comes within three seconds. */
export const PLATFORM_TIMEOUT_MS = 2_500;
export const MAX_ANSWER_BYTES = 65_536;

type Fields = Readonly<Record<string, string>>;

/** What a platform answered: any status below 500 that is no redirect, for many say with 400 why they refuse. */
export interface PlatformAnswer {
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
