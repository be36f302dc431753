import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { PlatformKind } from '#contracts';
import { OutboundClient } from '#outbound';
import { AUTH_LINKING_CONFIG, type AuthLinkingConfig } from '../auth-linking.config.js';
import { MAX_ANSWER_BYTES, PLATFORM_TIMEOUT_MS, PlatformEndpoint } from './platform-endpoint.js';

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
