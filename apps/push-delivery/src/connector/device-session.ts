import type { DeviceAddress, MessageRef, QueuePage } from '../device-queues/device-queues.js';
import { DeliveryWindow, FrameAllowance } from './delivery-window.js';
import type { ClientCommand, DeliveredMessage } from './framings/framing.js';
import { CLOSE, type Effect, loginProblem } from './session-effects.js';

export interface Deliverable {
  readonly ref: MessageRef;
  readonly message: DeliveredMessage;
}

/** A message that was added to the device's queue. */
export interface Arrival {
  readonly deliverable: Deliverable;
  /** The message may have been sent before, so only the queue decides. */
  readonly mustAsk: boolean;
}

interface SessionOptions {
  readonly id: string;
  readonly hasGatepostExtensions: boolean;
  readonly pingSeconds: number;
  readonly nowMs: number;
}

export const VISIT_MS = 5_000;
const MAX_SEEN = 200;
const LOGIN_TIMEOUT_MS = 15_000;
const STUCK_TIMEOUT_MS = 60_000;
/** The ids of messages that the device has are remembered for this time after the latest page or acknowledgement: late wake-ups arrive earlier. */
const MEMORY_MS = 120_000;
/** A connection ends after this number of ping intervals without a frame. */
const SILENT_PINGS = 2.5;
const LEAST_SILENCE_MS = 10_000;
const UNSUPPORTED = 'This server offers neither instant messaging nor live queries.';
const NONE: readonly Effect[] = [];

/** The connection of one device as a state machine without socket or store: frames, pages and the time go in, effects come out. */
export class DeviceSession {
  readonly id: string;
  device: DeviceAddress | undefined;
  /** A session that leaves accepts acknowledgements only: its device may have sent them before it could know. */
  #state: 'new' | 'connecting' | 'open' | 'leaving' | 'closed' = 'new';
  readonly #isExtended: boolean;
  readonly #pingMs: number;
  readonly #startedMs: number;
  #lastActivityMs: number;
  #pingedMs: number;
  #fullSinceMs = 0;
  #deliveredMs = 0;
  /** Wake-ups before this time may be for messages that the last session has delivered. */
  #verifyWakeUpsUntilMs = 0;
  #loginNumber: number | undefined;
  #isPeeking = false;
  /** The queue may hold messages that were not sent. */
  #isBehind = false;
  readonly #window = new DeliveryWindow();
  readonly #allowance = new FrameAllowance();

  constructor({ id, hasGatepostExtensions, pingSeconds, nowMs }: SessionOptions) {
    this.id = id;
    this.#isExtended = hasGatepostExtensions;
    this.#pingMs = pingSeconds * 1_000;
    this.#startedMs = nowMs;
    this.#lastActivityMs = nowMs;
    this.#pingedMs = nowMs;
  }

  get isOpen(): boolean {
    return this.#state === 'open';
  }

  get isConnecting(): boolean {
    return this.#state === 'connecting';
  }

  get isListening(): boolean {
    return this.#state !== 'closed';
  }

  hasEnded(): boolean {
    return this.#state === 'leaving' || this.#state === 'closed';
  }

  onActivity(nowMs: number): readonly Effect[] {
    if (this.hasEnded()) return NONE;
    this.#lastActivityMs = nowMs;
    return this.#allowance.consume(nowMs) ? NONE : this.refuse(CLOSE.tooFast, 'Too many frames.');
  }

  receive(command: ClientCommand, nowMs: number): readonly Effect[] {
    if (this.hasEnded()) return this.#receiveLate(command, nowMs);
    this.#lastActivityMs = nowMs;
    if (!this.#allowance.consume(nowMs)) return this.refuse(CLOSE.tooFast, 'Too many frames.');
    switch (command.kind) {
      case 'heartbeat':
        return [{ kind: 'send', frame: { kind: 'heartbeat' } }];
      case 'echo':
        return [{ kind: 'send', frame: { kind: 'echo', i: command.i } }];
      case 'logout':
        return [{ kind: 'send', frame: { kind: 'loggedOut', i: command.i } }];
      case 'unsupported': {
        const { i } = command;
        if (i === undefined) return NONE;
        // The closest of the protocol's codes: the application has no such service.
        const frame = { kind: 'error', code: CLOSE.unknownApplication, reason: UNSUPPORTED, i } as const;
        return [{ kind: 'send', frame }];
      }
      case 'login':
        return this.#login(command);
      case 'ack':
        return this.#acknowledge(command.ids, nowMs);
    }
  }

  /** The store has registered the session. @param verifyWakeUpsUntilMs earlier wake-ups may be for messages of the last session */
  connected(verifyWakeUpsUntilMs: number): readonly Effect[] {
    if (!this.isConnecting) return NONE;
    this.#state = 'open';
    this.#verifyWakeUpsUntilMs = verifyWakeUpsUntilMs;
    this.#isPeeking = true;
    return [this.#loggedIn()];
  }

  /** The messages of a page that the device does not have. Those that it has are acknowledged again. */
  selectMessages(page: QueuePage): { readonly refs: readonly MessageRef[]; readonly effects: readonly Effect[] } {
    const known = page.refs.filter(({ id }) => this.#window.isKnown(id));
    const refs = page.refs.filter(({ id }) => !this.#window.isKnown(id) && !this.#window.isInFlight(id));
    return { refs, effects: known.length === 0 ? NONE : [{ kind: 'acknowledge', refs: known, reportedUpTo: 0 }] };
  }

  /** Sends the wanted messages of a page. Messages that do not fit into the window are requested again later. */
  deliverPage(messages: readonly Deliverable[], page: QueuePage, nowMs: number): readonly Effect[] {
    this.#isPeeking = false;
    this.#deliveredMs = nowMs;
    if (!this.isOpen) return NONE;
    const effects = this.#reportGap(page);
    const fitting = this.#take(messages, nowMs);
    if (fitting.length > 0) effects.push(this.#data(fitting));
    const wasBehind = this.#isBehind;
    this.#isBehind ||= page.hasMore || fitting.length < messages.length;
    // After a page without new messages, the next page waits for a wake-up.
    const isWorthwhile = wasBehind || fitting.length > 0;
    return isWorthwhile ? [...effects, ...this.#catchUp()] : effects;
  }

  pageFailed(): void {
    this.#isPeeking = false;
    this.#isBehind = true;
  }

  /** Messages were added to the device's queue, which provides a message that must wait, and all after it. */
  wakeUp(arrivals: readonly Arrival[], nowMs: number): readonly Effect[] {
    const fitting: Deliverable[] = [];
    for (const { deliverable, mustAsk } of arrivals) {
      const { id } = deliverable.ref;
      if (this.#window.isInFlight(id) || this.#window.isKnown(id)) continue;
      const isNext = this.#isUpToDate() && !mustAsk && nowMs >= this.#verifyWakeUpsUntilMs;
      if (isNext && this.#take([deliverable], nowMs).length > 0) fitting.push(deliverable);
      else this.#isBehind = true;
    }
    return fitting.length > 0 ? [this.#data(fitting), ...this.#catchUp()] : this.#catchUp();
  }

  /** Wake-ups may have been lost: requests the queue again. */
  resync(): readonly Effect[] {
    this.#isBehind = true;
    return this.#catchUp();
  }

  visit(nowMs: number): readonly Effect[] {
    if (this.hasEnded()) return NONE;
    if (this.#state === 'new' && nowMs - this.#startedMs > LOGIN_TIMEOUT_MS)
      return this.refuse(CLOSE.loginTimeout, 'The login is missing.');
    if (this.#isStuck(nowMs)) return this.refuse(CLOSE.readTimeout, 'Messages are not acknowledged.');
    if (nowMs - this.#lastActivityMs > Math.max(LEAST_SILENCE_MS, this.#pingMs * SILENT_PINGS)) {
      this.#state = 'closed';
      return [{ kind: 'terminate' }];
    }
    if (this.#isUpToDate() && nowMs - this.#deliveredMs > MEMORY_MS) this.#window.forgetKnown();
    return [...this.#ping(nowMs), ...this.#catchUp()];
  }

  refuse(code: number, reason: string): readonly Effect[] {
    if (this.hasEnded()) return NONE;
    this.#state = code === CLOSE.conflict ? 'leaving' : 'closed';
    return [
      { kind: 'send', frame: { kind: 'error', code, reason, i: undefined } },
      { kind: 'close', code, reason },
    ];
  }

  goAway(retryAfterMs: number): readonly Effect[] {
    if (this.hasEnded()) return NONE;
    this.#state = 'leaving';
    const reason = 'The server is restarting.';
    return [
      { kind: 'send', frame: { kind: 'goAway', retryAfterMs, reason } },
      { kind: 'close', code: CLOSE.restart, reason },
    ];
  }

  ended(): void {
    this.#state = 'closed';
  }

  #receiveLate(command: ClientCommand, nowMs: number): readonly Effect[] {
    if (!this.#allowance.consume(nowMs)) this.#state = 'closed';
    return this.isListening && command.kind === 'ack' ? this.#acknowledge(command.ids, nowMs) : NONE;
  }

  #login({ appId, installationId, i, seen }: Extract<ClientCommand, { kind: 'login' }>): readonly Effect[] {
    const problem = loginProblem(appId, installationId, this.device);
    if (problem !== undefined) return this.refuse(problem.code, problem.reason);
    this.#loginNumber = i;
    if (this.isOpen) return [this.#loggedIn()];
    if (this.isConnecting) return NONE;
    this.device = { appId, installationId };
    for (const id of seen.slice(-MAX_SEEN)) this.#window.remember(id);
    this.#state = 'connecting';
    return [{ kind: 'connect' }];
  }

  #acknowledge(ids: readonly string[], nowMs: number): readonly Effect[] {
    const refs = ids.map((id) => this.#window.acknowledged(id)).filter((ref) => ref !== undefined);
    const reportedUpTo = this.#window.acknowledgedGap(ids);
    if (refs.length === 0 && reportedUpTo === 0) return NONE;
    this.#fullSinceMs = 0;
    this.#deliveredMs = nowMs;
    return [{ kind: 'acknowledge', refs, reportedUpTo }, ...this.#catchUp()];
  }

  #reportGap(page: QueuePage): Effect[] {
    const gap = this.#isExtended ? this.#window.newGap(this.id, page) : undefined;
    return gap === undefined ? [] : [{ kind: 'send', frame: { kind: 'gap', ...gap } }];
  }

  #take(messages: readonly Deliverable[], nowMs: number): readonly Deliverable[] {
    let count = 0;
    for (const { ref, message } of messages) {
      if (!this.#window.hasRoomFor(message.bytes)) break;
      this.#window.sent(ref, message.bytes);
      count += 1;
    }
    if (count < messages.length && this.#fullSinceMs === 0) this.#fullSinceMs = nowMs;
    return messages.slice(0, count);
  }

  #isStuck(nowMs: number): boolean {
    const mustWait = this.isOpen && this.#isBehind && !this.#isPeeking && !this.#window.isHalfEmpty();
    if (this.#fullSinceMs === 0 && mustWait) this.#fullSinceMs = nowMs;
    return this.#fullSinceMs > 0 && nowMs - this.#fullSinceMs > STUCK_TIMEOUT_MS;
  }

  /** Whether the device got each message that its queue held. Until then, a page can have messages that the login has named as seen. */
  #isUpToDate(): boolean {
    return this.isOpen && !this.#isBehind && !this.#isPeeking;
  }

  #catchUp(): readonly Effect[] {
    if (!this.isOpen || !this.#isBehind || this.#isPeeking || !this.#window.isHalfEmpty()) return NONE;
    this.#isBehind = false;
    this.#isPeeking = true;
    this.#window.forgetGap();
    return [{ kind: 'peek' }];
  }

  #data(messages: readonly Deliverable[]): Effect {
    this.#allowance.credit(messages.length);
    return { kind: 'send', frame: { kind: 'data', messages: messages.map(({ message }) => message) } };
  }

  #loggedIn(): Effect {
    const installationId = this.device?.installationId ?? '';
    return {
      kind: 'send',
      frame: { kind: 'loggedIn', installationId, i: this.#loginNumber, heartbeatSeconds: this.#pingMs / 1_000 },
    };
  }

  #ping(nowMs: number): readonly Effect[] {
    if (nowMs - this.#pingedMs < this.#pingMs - VISIT_MS) return NONE;
    this.#pingedMs = nowMs;
    // Scripts in browsers cannot see pings, so they also get a heartbeat.
    return this.#isExtended ? [{ kind: 'ping' }, { kind: 'send', frame: { kind: 'heartbeat' } }] : [{ kind: 'ping' }];
  }
}
