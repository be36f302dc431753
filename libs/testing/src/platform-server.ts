import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll } from 'vitest';
import { AlipayPlatform } from './platforms/alipay-platform.js';
import { ApplePlatform } from './platforms/apple-platform.js';
import { BaiduPlatform, TtPlatform, WechatLikePlatform } from './platforms/code-platforms.js';
import { MISBEHAVIOURS, type PlatformFault } from './platforms/faults.js';
import type { PlatformCall, StandInPlatform } from './platforms/platform-call.js';
import { TaptapPlatform } from './platforms/taptap-platform.js';
import { QqPlatform, WeiboPlatform, WeixinPlatform } from './platforms/token-platforms.js';

export { newSigningKey } from './platforms/apple-platform.js';

const HOST = '127.0.0.1';

function newPlatforms() {
  return {
    weixin: new WeixinPlatform(),
    weibo: new WeiboPlatform(),
    qq: new QqPlatform(),
    taptap: new TaptapPlatform(),
    lc_apple: new ApplePlatform(),
    lc_weapp: new WechatLikePlatform(),
    lc_qqapp: new WechatLikePlatform(),
    lc_baidu: new BaiduPlatform(),
    lc_tt: new TtPlatform(),
    lc_alipay: new AlipayPlatform(),
  } satisfies Record<string, StandInPlatform>;
}

type Platforms = ReturnType<typeof newPlatforms>;
/** The key of a platform in `authData`. */
export type PlatformKey = keyof Platforms;

/**
 * All platforms on one local server, each under its key. They answer as their public documentation says: signatures and
 * secrets are checked, codes are good once.
 */
export class PlatformServer {
  readonly #platforms = newPlatforms();
  readonly weixin = this.#platforms.weixin;
  readonly weibo = this.#platforms.weibo;
  readonly qq = this.#platforms.qq;
  readonly taptap = this.#platforms.taptap;
  readonly apple = this.#platforms.lc_apple;
  readonly weapp = this.#platforms.lc_weapp;
  readonly qqapp = this.#platforms.lc_qqapp;
  readonly baidu = this.#platforms.lc_baidu;
  readonly tt = this.#platforms.lc_tt;
  readonly alipay = this.#platforms.lc_alipay;
  /** Requests that were sent to where the fault `redirect` leads. */
  trapped = 0;
  readonly #calls = new Map<string, PlatformCall[]>();
  readonly #faults = new Map<string, PlatformFault>();
  readonly #delays = new Map<string, number>();

  private constructor(private readonly server: Server) {}

  static async start(): Promise<PlatformServer> {
    const server = createServer();
    const platforms = new PlatformServer(server);
    server.on('request', (request, response) => {
      void platforms.#handle(request, response);
    });
    await new Promise<void>((resolve) => server.listen(0, HOST, resolve));
    return platforms;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** The keys of the platforms. */
  get kinds(): PlatformKey[] {
    return Object.keys(this.#platforms) as PlatformKey[];
  }

  /** The credentials of an application on each platform: the fields of `gatepost platforms set`. */
  get credentials(): { readonly [Kind in PlatformKey]: Platforms[Kind]['credentials'] } {
    const entries = this.kinds.map((kind) => [kind, this.#platforms[kind].credentials]);
    return Object.fromEntries(entries) as { [Kind in PlatformKey]: Platforms[Kind]['credentials'] };
  }

  /** Leads a Gatepost to this server. */
  env(): { GATEPOST_PLATFORM_URLS: string; GATEPOST_INTERNAL_NETWORKS: string } {
    return {
      GATEPOST_PLATFORM_URLS: this.kinds.map((kind) => `${kind}=${this.url(kind)}`).join(','),
      GATEPOST_INTERNAL_NETWORKS: HOST,
    };
  }

  /** @param host another name of this machine */
  url(kind: PlatformKey, host = HOST): string {
    return `http://${host}:${this.port}/${kind}`;
  }

  /** The requests that the platform has received. */
  calls(kind: PlatformKey): readonly PlatformCall[] {
    return this.#calls.get(kind) ?? [];
  }

  /** From now on the platform misbehaves, until `mend`. */
  break(kind: PlatformKey, fault: PlatformFault): void {
    this.#faults.set(kind, fault);
  }

  /** From now on each answer of the platform takes so long, until `mend`. */
  slowDown(kind: PlatformKey, delayMs: number): void {
    this.#delays.set(kind, delayMs);
  }

  mend(): void {
    this.#faults.clear();
    this.#delays.clear();
  }

  /** Ends what is open; new connections are welcome. */
  breakConnections(): void {
    this.server.closeAllConnections();
  }

  async stop(): Promise<void> {
    this.breakConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = Buffer.concat(await request.toArray()).toString();
    const { kind, call } = callOf(request, body);
    const platform: StandInPlatform | undefined = (this.#platforms as Record<string, StandInPlatform>)[kind];
    if (platform === undefined) {
      this.trapped += 1;
      response.writeHead(404).end();
      return;
    }
    this.#calls.set(kind, [...(this.#calls.get(kind) ?? []), call]);
    await setTimeout(this.#delays.get(kind) ?? 0);
    const fault = this.#faults.get(kind);
    if (fault === undefined) {
      const { status = 200, body: answer } = await platform.answer(call);
      const text = typeof answer === 'string' ? answer : JSON.stringify(answer);
      response.writeHead(status, { 'content-type': 'application/json' }).end(text);
    } else MISBEHAVIOURS[fault](response, request);
  }
}

/** Starts the platforms before the tests of a suite, and stops them after them. */
export function usePlatforms(): () => PlatformServer {
  let platforms: PlatformServer | undefined;
  beforeAll(async () => {
    platforms = await PlatformServer.start();
  });
  afterAll(() => platforms?.stop());
  return () => {
    if (platforms === undefined) throw new Error('the platforms are there once the tests run');
    return platforms;
  };
}

function callOf(request: IncomingMessage, body: string): { kind: string; call: PlatformCall } {
  const { method = '', url: target = '', headers } = request;
  const { hostname: host, port, pathname, searchParams: query } = new URL(target, `http://${headers.host ?? HOST}`);
  const [, kind = '', ...path] = pathname.split('/');
  return { kind, call: { method, path: `/${path.join('/')}`, target, host, port, query, headers, body } };
}
