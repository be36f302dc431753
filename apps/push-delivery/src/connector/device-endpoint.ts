import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import proxyAddr from '@fastify/proxy-addr';
import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { WebSocketServer } from 'ws';
import { clientAddressOf, clientNetworkOf } from '#admission';
import { Metrics } from '#observability';
import { PUSH_DELIVERY_CONFIG, type PushDeliveryConfig } from '../push-delivery.config.js';
import { ConnectorIdentity } from './connector-identity.js';
import { ConnectorService } from './connector.service.js';
import { chooseProtocol, framingOf } from './framings/framings.js';
import { DeviceSession } from './sessions/device-session.js';
import { ConnectionRounds } from './sockets/connection-rounds.js';
import { Connections } from './sockets/connections.js';
import { DeviceConnection } from './sockets/device-connection.js';
import { DeviceSocket } from './sockets/device-socket.js';
import { isWebSocketRequest, serveWithoutUpgrade } from './sockets/plain-request.js';

const PATHS = new Set(['/push', '/']);
/** Room for 200 ids, and for what the SDKs say of other things. */
const MAX_FRAME_BYTES = 16_384;
const MAX_FRAGMENTS = 16;

/** Where devices connect: WebSockets on the process's HTTP server. */
@Injectable()
export class DeviceEndpoint implements OnApplicationBootstrap {
  readonly #sockets = new WebSocketServer({
    noServer: true,
    // Deflate would cost 100 kB a connection.
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

  /** Takes no more devices. */
  close(): void {
    this.#isDraining = true;
    this.#rounds.stop();
  }

  #upgrade(request: IncomingMessage, stream: Duplex, head: Buffer): void {
    const [path = ''] = (request.url ?? '').split('?', 1);
    if (!PATHS.has(path)) refuse(stream, '404 Not Found');
    else if (this.#isDraining || this.connections.count >= this.config.connector.connectionLimit)
      refuse(stream, '503 Service Unavailable', this.config.connector.reconnectSeconds);
    else
      this.#sockets.handleUpgrade(request, stream, head, (socket) => {
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
      id: this.identity.newSessionId(),
      isOurs: framing.isOurs,
      pingSeconds: this.config.connector.pingSeconds,
      nowMs: performance.now(),
    });
    const host = this.connector;
    this.connector.opened(new DeviceConnection(socket, stream, { session, framing, network, host }));
  }
}

/** Answers a request that becomes no WebSocket. */
function refuse(stream: Duplex, status: string, retryAfterSeconds?: number): void {
  const retryAfter = retryAfterSeconds === undefined ? '' : `Retry-After: ${retryAfterSeconds}\r\n`;
  stream.on('error', () => undefined);
  stream.once('finish', () => stream.destroy());
  stream.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n${retryAfter}\r\n`);
}
