import { createConnection, createServer, type Server, type Socket } from 'node:net';

interface Target {
  readonly host: string;
  readonly port: number;
}

/** Stands between a client and its server, and can take the server away, or put another in its place, at a moment of our choice. */
export class TcpProxy {
  readonly #sockets = new Set<Socket>();
  /** The connections to the server. */
  readonly #servers = new Set<Socket>();
  #connections = 0;
  #isAway = false;
  #isSilent = false;

  private constructor(
    private readonly server: Server,
    readonly port: number,
    private target: Target,
  ) {}

  /** A proxy to the host and port of the URL (with the port that the scheme has by default). */
  static async to(target: URL, defaultPort: number): Promise<TcpProxy> {
    const server = createServer((socket) => {
      proxy.#carry(socket, createConnection(proxy.target));
    });
    const port = await new Promise<number>((resolve) => {
      server.listen(0, '127.0.0.1', () => {
        resolve((server.address() as { port: number }).port);
      });
    });
    const proxy = new TcpProxy(server, port, targetOf(target, defaultPort));
    return proxy;
  }

  /** The URL with the proxy's address in place of the server's. */
  urlFor(target: string): string {
    const url = new URL(target);
    url.hostname = '127.0.0.1';
    url.port = String(this.port);
    return url.href;
  }

  /** Breaks all connections. New ones lead to the other server, as after a change of a DNS record. */
  switchTo(target: URL, defaultPort: number): void {
    this.target = targetOf(target, defaultPort);
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Breaks all connections, and refuses new ones. */
  takeAway(): void {
    this.#isAway = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Connections stay open, but nothing gets through: what a lost network looks like. */
  silence(): void {
    this.#isSilent = true;
    for (const socket of this.#sockets) socket.pause();
  }

  /** Requests get through, replies do not. */
  holdReplies(): void {
    for (const server of this.#servers) server.pause();
  }

  /** The number of connections that clients have opened. */
  get connections(): number {
    return this.#connections;
  }

  /** The number of bytes of replies that are held. */
  get heldBytes(): number {
    return [...this.#servers].reduce((sum, server) => sum + server.readableLength, 0);
  }

  /** Lets the replies through that are held now, within this call, and holds later ones. */
  passHeldReplies(): void {
    for (const server of this.#servers) server.read();
  }

  /** Everything gets through again. */
  bringBack(): void {
    this.#isAway = false;
    this.#isSilent = false;
    for (const socket of this.#sockets) socket.resume();
  }

  async close(): Promise<void> {
    this.takeAway();
    await new Promise((resolve) => this.server.close(resolve));
  }

  #carry(client: Socket, server: Socket): void {
    const pair = [client, server];
    this.#servers.add(server);
    this.#connections += 1;
    const destroy = () => {
      for (const socket of pair) {
        this.#sockets.delete(socket);
        this.#servers.delete(socket);
        socket.destroy();
      }
    };
    for (const socket of pair) {
      this.#sockets.add(socket);
      socket.setNoDelay(true).on('error', destroy).on('close', destroy);
    }
    if (this.#isAway) {
      destroy();
      return;
    }
    client.pipe(server);
    server.pipe(client);
    if (this.#isSilent) for (const socket of pair) socket.pause();
  }
}

function targetOf({ hostname, port }: URL, defaultPort: number): Target {
  return { host: hostname, port: port === '' ? defaultPort : Number(port) };
}
