import { Inject, Injectable } from '@nestjs/common';
import { CONSOLE_CONFIG, type ConsoleConfig } from '../console.config.js';

/** The public origin of the console; known once the server listens. */
@Injectable()
export class PublicUrl {
  #port = 0;

  constructor(@Inject(CONSOLE_CONFIG) private readonly config: ConsoleConfig) {}

  listensOn(port: number): void {
    this.#port = port;
  }

  get origin(): string {
    return this.config.url ?? `http://localhost:${this.#port}`;
  }

  /** The origins whose pages may call the API. */
  get origins(): readonly string[] {
    const local = ['localhost', '127.0.0.1'].map((host) => `http://${host}:${this.#port}`);
    return this.config.isDevelopment ? [this.origin, ...local] : [this.origin];
  }

  get isEncrypted(): boolean {
    return this.origin.startsWith('https:');
  }
}
