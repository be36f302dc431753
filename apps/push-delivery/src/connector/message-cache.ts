import { Inject, Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { Clock } from '#bootstrap';
import type { PushMessage } from '#contracts';
import { DEVICE_QUEUES, type DeviceQueues, type MessageRef } from '../device-queues/device-queues.js';
import type { Deliverable } from './device-session.js';
import type { DeliveredMessage } from './framings/framing.js';

const MAX_MESSAGES = 10_000;
/** Limit of all bodies together; their frames use about the same again. */
const MAX_BYTES = 33_554_432;

/** As many as the record of a push distinguishes. */
const MAX_SHARED_PLATFORMS = 32;

/** A body that is missing so long before its expiry is lost: bodies are written before references. Clocks may differ by less. */
const LOST_BEFORE_MS = 5_000;

interface LoadedPage {
  readonly messages: readonly Deliverable[];
  readonly lost: readonly MessageRef[];
}

/** Reads requested in one turn of the event loop share one query. The read of each message can fail by itself. */
interface PendingRead {
  readonly ids: Set<string>;
  readonly messages: Promise<ReadonlyMap<string, Promise<CachedMessage | undefined>>>;
}

@Injectable()
export class MessageCache {
  readonly #kept = new LRUCache<string, CachedMessage>({
    max: MAX_MESSAGES,
    maxSize: MAX_BYTES,
    sizeCalculation: (message) => message.bytes,
  });
  #pendingRead: PendingRead | undefined;

  constructor(@Inject(DEVICE_QUEUES) private readonly queues: DeviceQueues) {}

  add(message: PushMessage): CachedMessage {
    const kept = this.#kept.get(message.id);
    if (kept !== undefined) return kept;
    const cached = new CachedMessage(message);
    this.#kept.set(message.id, cached);
    return cached;
  }

  /** Without expired ones, in the queue's order. @throws AppError SERVICE_UNAVAILABLE */
  async load(refs: readonly MessageRef[], clock: Clock): Promise<LoadedPage> {
    const found = new Map<string, CachedMessage>();
    const missing: string[] = [];
    for (const { id } of refs) {
      const kept = this.#kept.get(id);
      if (kept === undefined) missing.push(id);
      else found.set(id, kept);
    }
    if (missing.length > 0) for (const message of await this.#read(missing)) found.set(message.id, message);
    const now = clock.now();
    const messages = refs.flatMap((ref) => {
      const message = found.get(ref.id);
      return message === undefined || message.hasExpired(now) ? [] : [message.deliverable(ref.platform)];
    });
    const lost = refs.filter(({ id, expiresAt }) => !found.has(id) && expiresAt > now.getTime() + LOST_BEFORE_MS);
    return { messages, lost };
  }

  /** Thousands of devices that reconnect at once need the same few messages. */
  async #read(ids: readonly string[]): Promise<CachedMessage[]> {
    const pending = (this.#pendingRead ??= this.#nextRead());
    for (const id of ids) pending.ids.add(id);
    const messages = await pending.messages;
    const found = await Promise.all(ids.map(async (id) => messages.get(id)));
    return found.filter((message) => message !== undefined);
  }

  #nextRead(): PendingRead {
    const ids = new Set<string>();
    const messages = new Promise<void>((resolve) => setImmediate(resolve)).then(() => {
      this.#pendingRead = undefined;
      const wanted = [...ids];
      const reads = this.queues.messages(wanted).map((read) => read.then((message) => message && this.add(message)));
      return new Map(wanted.map((id, place) => [id, reads[place] ?? Promise.resolve(undefined)]));
    });
    return { ids, messages };
  }
}

class CachedMessage {
  readonly id: string;
  readonly bytes: number;
  readonly #expiresAt: number;
  readonly #byPlatform: ReadonlyMap<string, DeliveredMessage>;
  readonly #common: DeliveredMessage;
  readonly #deliverables = new Map<string, Deliverable>();

  constructor({ id, expiresAt, bodies, body }: PushMessage) {
    const delivered = (text: string) => ({ id, body: text, bytes: Buffer.byteLength(text) });
    this.id = id;
    this.#expiresAt = expiresAt;
    this.#common = delivered(body);
    this.#byPlatform = new Map(Object.entries(bodies).map(([platform, text]) => [platform, delivered(text)]));
    this.bytes = [this.#common, ...this.#byPlatform.values()].reduce((sum, { bytes }) => sum + bytes, 0);
  }

  hasExpired(now: Date): boolean {
    return this.#expiresAt <= now.getTime();
  }

  /** All devices of a platform share one; beyond MAX_SHARED_PLATFORMS, which clients can name freely, each has its own. */
  deliverable(platform: string): Deliverable {
    const kept = this.#deliverables.get(platform);
    if (kept !== undefined) return kept;
    const ref = { id: this.#common.id, platform, expiresAt: this.#expiresAt };
    const made = { ref, message: this.#byPlatform.get(platform) ?? this.#common };
    if (this.#deliverables.size < MAX_SHARED_PLATFORMS) this.#deliverables.set(platform, made);
    return made;
  }
}
