import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';

const UPGRADE_HEADERS = new Set(['connection', 'upgrade', 'http2-settings']);

export function isWebSocketRequest({ headers }: IncomingMessage): boolean {
  return headers.upgrade?.toLowerCase() === 'websocket';
}

/**
 * Gives the HTTP server a request back that offers another protocol, such as h2c, which clients in Java do by default. A server
 * may ignore such an offer (RFC 9110 §7.8), but Node lets nobody do that once somebody listens for upgrades.
 */
export function serveWithoutUpgrade(server: Server, request: IncomingMessage, stream: Duplex, rest: Buffer): void {
  const lines = [`${request.method ?? 'GET'} ${request.url ?? '/'} HTTP/1.1`];
  for (let index = 0; index < request.rawHeaders.length; index += 2) {
    const [name = '', value = ''] = request.rawHeaders.slice(index, index + 2);
    if (!UPGRADE_HEADERS.has(name.toLowerCase())) lines.push(`${name}: ${value}`);
  }
  if (/\bclose\b/i.test(request.headers.connection ?? '')) lines.push('Connection: close');
  stream.unshift(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), rest]));
  server.emit('connection', stream);
}
