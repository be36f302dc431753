import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import proxyAddr from '@fastify/proxy-addr';
import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { WebSocketServer } from 'ws';
import { clientAddressOf, clientNetworkOf } from '#admission';
import { destroySoon } from '#bootstrap';
import { Metrics } from '#observability';
import { PUSH_DELIVERY_CONFIG, type PushDeliveryConfig } from '../push-delivery.config.js';
import { ConnectionRounds, Connections, ConnectorIdentity } from './connections.js';
import { ConnectorService } from './connector.service.js';
import { DeviceConnection, DeviceSocket } from './device-connection.js';
import { DeviceSession } from './device-session.js';
import { chooseProtocol, framingOf } from './framings/framings.js';

const PATHS = new Set(['/push', '/']);
/** Enough for 200 ids, and for the other commands of the SDKs. */
const MAX_FRAME_BYTES = 16_384;
const MAX_FRAGMENTS = 16;

/** The WebSocket endpoint of devices, on the process's HTTP server. */
@Injectable()
export class DeviceEndpoint implements OnApplicationBootstrap {
  readonly #sockets = new WebSocketServer({
    noServer: true,
    // Deflate would use 100 kB per connection.
    perMessageDeflate: false,
    clientTracking: false,
    maxPayload: MAX_FRAME_BYTES,
    maxFragments: MAX_FRAGMENTS,
    handleProtocols: (offered) => chooseProtocol(offered) ?? false,
    WebSocket: DeviceSocket,
  });
  readonly #rounds: ConnectionRounds;
  readonly #isTrusted: (address: string, hop: number) => boolean;
  #isDraining = false;

  constructor(
    @Inject(PUSH_DELIVERY_CONFIG) private readonly config: PushDeliveryConfig,
    private readonly http: HttpAdapterHost,
    private readonly identity: ConnectorIdentity,
    private readonly connections: Connections,
    private readonly connector: ConnectorService,
    metrics: Metrics,
  ) {
    metrics.pushConnectionLimit.set(config.connector.connectionLimit);
    this.#isTrusted = proxyAddr.compile([...config.connector.trustedProxies]);
    this.#rounds = new ConnectionRounds(connections);
  }

  onApplicationBootstrap(): void {
    const server = this.http.httpAdapter.getHttpServer() as Server;
    server.on('upgrade', (request: IncomingMessage, stream: Duplex, head: Buffer) => {
      if (isWebSocketRequest(request)) this.#upgrade(request, stream, head);
      else serveWithoutUpgrade(server, request, stream, head);
    });
    this.#rounds.start();
  }

  close(): void {
    this.#isDraining = true;
    this.#rounds.stop();
  }

  #upgrade(request: IncomingMessage, stream: Duplex, head: Buffer): void {
    const [path = ''] = (request.url ?? '').split('?', 1);
    if (!PATHS.has(path)) refuse(stream, '404 Not Found');
    else if (this.#isDraining || !this.connections.makeRoom(this.config.connector.connectionLimit, performance.now()))
      refuse(stream, '503 Service Unavailable', this.config.connector.reconnectSeconds);
    else this.#accept(request, stream, head);
  }

  #accept(request: IncomingMessage, stream: Duplex, head: Buffer): void {
    // Node.js ends its timeouts at an upgrade, and a client that reads nothing would stay.
    const timer = destroySoon(stream);
    this.#sockets.handleUpgrade(request, stream, head, (socket) => {
      clearTimeout(timer);
      this.#opened(socket, stream, clientNetworkOf(this.#addressOf(request)));
    });
  }

  #addressOf(request: IncomingMessage): string {
    const ips = proxyAddr.all(request, this.#isTrusted);
    return clientAddressOf({ ip: ips[0] ?? '', ips });
  }

  #opened(socket: DeviceSocket, stream: Duplex, network: string): void {
    const framing = framingOf(socket.protocol);
    const session = new DeviceSession({
      id: this.identity.newSessionId(framing.name),
      hasGatepostExtensions: framing.hasGatepostExtensions,
      pingSeconds: this.config.connector.pingSeconds,
      nowMs: performance.now(),
    });
    const host = this.connector;
    this.connector.opened(new DeviceConnection(socket, stream, { session, framing, network, host }));
  }
}

const UPGRADE_HEADERS = new Set(['connection', 'upgrade', 'http2-settings']);

function isWebSocketRequest({ headers }: IncomingMessage): boolean {
  return headers.upgrade?.toLowerCase() === 'websocket';
}

/** Returns a request that offers another protocol, such as h2c, to the HTTP server. Node ignores no offer (RFC 9110 §7.8) while a listener for upgrades exists. */
function serveWithoutUpgrade(server: Server, request: IncomingMessage, stream: Duplex, rest: Buffer): void {
  const lines = [`${request.method ?? 'GET'} ${request.url ?? '/'} HTTP/1.1`];
  for (let index = 0; index < request.rawHeaders.length; index += 2) {
    const [name = '', value = ''] = request.rawHeaders.slice(index, index + 2);
    if (!UPGRADE_HEADERS.has(name.toLowerCase())) lines.push(`${name}: ${value}`);
  }
  if (/\bclose\b/i.test(request.headers.connection ?? '')) lines.push('Connection: close');
  stream.unshift(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), rest]));
  server.emit('connection', stream);
}

function refuse(stream: Duplex, status: string, retryAfterSeconds?: number): void {
  const retryAfter = retryAfterSeconds === undefined ? '' : `Retry-After: ${retryAfterSeconds}\r\n`;
  stream.on('error', () => undefined);
  stream.once('finish', () => stream.destroy());
  stream.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n${retryAfter}\r\n`);
  destroySoon(stream);
}
