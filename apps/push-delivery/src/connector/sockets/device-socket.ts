import { type RawData, WebSocket } from 'ws';

/** Who hears what comes over a socket. */
interface SocketListener {
  received(payload: Buffer): void;
  /** Something came that has no content. */
  heard(): void;
  /** The socket is gone. */
  ended(code: number): void;
}

/** A socket that knows who listens, so that all sockets share their listeners: a closure each would be felt at 100,000. */
export class DeviceSocket extends WebSocket {
  #listener: SocketListener | undefined;

  attach(listener: SocketListener): void {
    this.#listener = listener;
    this.on('message', DeviceSocket.#onMessage);
    this.on('ping', DeviceSocket.#onSign);
    this.on('pong', DeviceSocket.#onSign);
    this.on('error', DeviceSocket.#onError);
    this.on('close', DeviceSocket.#onClose);
  }

  static #onMessage(this: WebSocket, data: RawData): void {
    // Frames are small: ws gives each as one buffer.
    if (this instanceof DeviceSocket && Buffer.isBuffer(data)) this.#listener?.received(data);
  }

  static #onSign(this: WebSocket): void {
    if (this instanceof DeviceSocket) this.#listener?.heard();
  }

  static #onError(this: WebSocket): void {
    // ws closes the socket, with the code that says why.
  }

  static #onClose(this: WebSocket, code: number): void {
    if (this instanceof DeviceSocket) this.#listener?.ended(code);
  }
}
