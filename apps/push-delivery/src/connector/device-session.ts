import type { DeviceAddress, MessageRef, QueuePage } from '../device-queues/device-queues.js';
import { DeliveryWindow, FrameAllowance, loginProblem } from './delivery-window.js';
import type { ClientCommand, DeliveredMessage } from './framings/framing.js';
import { CLOSE, type Effect } from './session-effects.js';

/** A message that may go to a device, and how the queue knows it. */
export interface Deliverable {
  readonly ref: MessageRef;
  readonly message: DeliveredMessage;
}

/** What a session knows of its connection. */
interface SessionOptions {
  /** What the store and the other connectors call it. */
  readonly id: string;
  /** Whether the device knows gaps, and when to come back. */
  readonly isOurs: boolean;
  readonly pingSeconds: number;
  readonly nowMs: number;
}

/** How often a session is visited. */
export const VISIT_MS = 5_000;
/** Ids that a device may name at its login. */
const MAX_SEEN = 200;
const LOGIN_TIMEOUT_MS = 15_000;
/** How long a device may leave its window full. */
const STUCK_TIMEOUT_MS = 60_000;
/** How long acknowledged ids are remembered after the latest: late hints of them have come by then. */
const MEMORY_MS = 120_000;
/** Silence of so many pings is the end. */
const SILENT_PINGS = 2.5;
/** Less than this is no sign of anything. */
const LEAST_SILENCE_MS = 10_000;
const UNSUPPORTED = 'This server offers neither instant messaging nor live queries.';
const NONE: readonly Effect[] = [];

/**
 * One device's connection as a state machine: what comes from the device, the queue and the clock goes in, what is to be done
 * comes out. It knows no socket and no store.
 */
export class DeviceSession {
  readonly id: string;
  /** Whom the device says it is; undefined before it does. */
  device: DeviceAddress | undefined;
  #state: 'new' | 'connecting' | 'open' | 'closed' = 'new';
  readonly #isOurs: boolean;
  readonly #pingMs: number;
  readonly #startedMs: number;
  #heardMs: number;
  #pingedMs: number;
  #fullSinceMs = 0;
  #deliveredMs = 0;
  /** Hints before this moment may be of messages that the device had from its last session. */
  #distrustUntilMs = 0;
  #loginNumber: number | undefined;
  #isPeeking = false;
  /** There may be more in the queue than was sent. */
  #isBehind = false;
  readonly #window = new DeliveryWindow();
  readonly #allowance = new FrameAllowance();
  /** What the device was told of dropped messages; until the store has heard that it knows. */
  #gap: { readonly id: string; readonly dropped: number; isAcknowledged: boolean } | undefined;

  constructor({ id, isOurs, pingSeconds, nowMs }: SessionOptions) {
    this.id = id;
    this.#isOurs = isOurs;
    this.#pingMs = pingSeconds * 1_000;
    this.#startedMs = nowMs;
    this.#heardMs = nowMs;
    this.#pingedMs = nowMs;
  }

  get isOpen(): boolean {
    return this.#state === 'open';
  }

  get isConnecting(): boolean {
    return this.#state === 'connecting';
  }

  hasEnded(): boolean {
    return this.#state === 'closed';
  }

  /** Something came that says no more than that the device is there. */
  heard(nowMs: number): readonly Effect[] {
    if (this.hasEnded()) return NONE;
    this.#heardMs = nowMs;
    return this.#allowance.take(nowMs) ? NONE : this.refuse(CLOSE.tooFast, 'Too many frames.');
  }

  /** The device says something. */
  receive(command: ClientCommand, nowMs: number): readonly Effect[] {
    if (this.hasEnded()) return NONE;
    this.#heardMs = nowMs;
    if (!this.#allowance.take(nowMs)) return this.refuse(CLOSE.tooFast, 'Too many frames.');
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
        const frame = { kind: 'error', code: CLOSE.unknownApplication, reason: UNSUPPORTED, i } as const;
        return [{ kind: 'send', frame }];
      }
      case 'login':
        return this.#login(command);
      case 'ack':
        return this.#acknowledge(command.ids, nowMs);
    }
  }

  /** The device is connected by this session now. @param distrustHintsUntilMs hints before it may be of what its last session had */
  connected(distrustHintsUntilMs: number): readonly Effect[] {
    if (!this.isConnecting) return NONE;
    this.#state = 'open';
    this.#distrustUntilMs = distrustHintsUntilMs;
    this.#isPeeking = true;
    return [this.#loggedIn()];
  }

  /** Which messages of a page the device does not have. What it has already is acknowledged once more. */
  wanted({ refs }: QueuePage): { readonly wanted: readonly MessageRef[]; readonly effects: readonly Effect[] } {
    const known = refs.filter(({ id }) => this.#window.isKnown(id));
    const wanted = refs.filter(({ id }) => !this.#window.isKnown(id) && !this.#window.isInFlight(id));
    return { wanted, effects: known.length === 0 ? NONE : [{ kind: 'acknowledge', refs: known, droppedTold: 0 }] };
  }

  /** The wanted messages of a page. Those that the window has no room for are asked for again later. */
  deliverPage(messages: readonly Deliverable[], page: QueuePage, nowMs: number): readonly Effect[] {
    this.#isPeeking = false;
    if (!this.isOpen) return NONE;
    const effects = this.#tellGap(page.dropped);
    const fitting = this.#take(messages, nowMs);
    if (fitting.length > 0) effects.push(this.#data(fitting));
    const wasHinted = this.#isBehind;
    this.#isBehind ||= page.hasMore || fitting.length < messages.length;
    // A page that brought nothing would bring nothing again: the next one waits for news.
    const isWorthwhile = wasHinted || fitting.length > 0;
    return isWorthwhile ? [...effects, ...this.#catchUp()] : effects;
  }

  /** The page could not be had: it is asked for again at the next visit. */
  pageFailed(): void {
    this.#isPeeking = false;
    this.#isBehind = true;
  }

  /** A message has come into the device's queue. @param mustAsk it may have come before */
  hinted(message: Deliverable, mustAsk: boolean, nowMs: number): readonly Effect[] {
    const { id } = message.ref;
    if (this.#window.isInFlight(id) || this.#window.isKnown(id)) return NONE;
    const mustWait = !this.isOpen || this.#isPeeking || this.#isBehind || mustAsk || nowMs < this.#distrustUntilMs;
    if (!mustWait && this.#take([message], nowMs).length > 0) return [this.#data([message])];
    this.#isBehind = true;
    return this.#catchUp();
  }

  /** Something may have been lost on the way here: the queue is asked again. */
  resync(): readonly Effect[] {
    this.#isBehind = true;
    return this.#catchUp();
  }

  /** To be called every VISIT_MS. */
  visit(nowMs: number): readonly Effect[] {
    if (this.hasEnded()) return NONE;
    if (this.#state === 'new' && nowMs - this.#startedMs > LOGIN_TIMEOUT_MS)
      return this.refuse(CLOSE.loginTimeout, 'No login came.');
    if (this.#fullSinceMs > 0 && nowMs - this.#fullSinceMs > STUCK_TIMEOUT_MS)
      return this.refuse(CLOSE.readTimeout, 'Messages are not acknowledged.');
    if (nowMs - this.#heardMs > Math.max(LEAST_SILENCE_MS, this.#pingMs * SILENT_PINGS)) {
      this.#state = 'closed';
      return [{ kind: 'terminate' }];
    }
    if (nowMs - this.#deliveredMs > MEMORY_MS) this.#window.forgetKnown();
    return [...this.#ping(nowMs), ...this.#catchUp()];
  }

  /** Ends the session, and tells the device why where its framing can. */
  refuse(code: number, reason: string): readonly Effect[] {
    if (this.hasEnded()) return NONE;
    this.#state = 'closed';
    return [
      { kind: 'send', frame: { kind: 'error', code, reason, i: undefined } },
      { kind: 'close', code, reason },
    ];
  }

  /** Ends the session because the server stops. */
  goAway(retryAfterMs: number): readonly Effect[] {
    if (this.hasEnded()) return NONE;
    this.#state = 'closed';
    const reason = 'The server is restarting.';
    return [
      { kind: 'send', frame: { kind: 'goAway', retryAfterMs, reason } },
      { kind: 'close', code: CLOSE.restart, reason },
    ];
  }

  /** The socket is gone. */
  ended(): void {
    this.#state = 'closed';
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
    const droppedTold = this.#acknowledgeGap(ids);
    if (refs.length === 0 && droppedTold === 0) return NONE;
    this.#fullSinceMs = 0;
    this.#deliveredMs = nowMs;
    return [{ kind: 'acknowledge', refs, droppedTold }, ...this.#catchUp()];
  }

  #acknowledgeGap(ids: readonly string[]): number {
    if (this.#gap === undefined || this.#gap.isAcknowledged || !ids.includes(this.#gap.id)) return 0;
    this.#gap.isAcknowledged = true;
    return this.#gap.dropped;
  }

  #tellGap(dropped: number): Effect[] {
    if (!this.#isOurs || dropped === 0 || this.#gap !== undefined) return [];
    const id = `gap-${this.id}-${dropped}`;
    this.#gap = { id, dropped, isAcknowledged: false };
    return [{ kind: 'send', frame: { kind: 'gap', id, dropped } }];
  }

  /** Takes the first messages that the window has room for. */
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

  /** Asks for what is next, once the device has dealt with half of what it got. */
  #catchUp(): readonly Effect[] {
    if (!this.isOpen || !this.#isBehind || this.#isPeeking || !this.#window.isHalfEmpty()) return NONE;
    this.#isBehind = false;
    this.#isPeeking = true;
    if (this.#gap?.isAcknowledged === true) this.#gap = undefined;
    return [{ kind: 'peek' }];
  }

  #data(messages: readonly Deliverable[]): Effect {
    this.#allowance.earn();
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
    // Where scripts do not see the ping, they see the heartbeat.
    return this.#isOurs ? [{ kind: 'ping' }, { kind: 'send', frame: { kind: 'heartbeat' } }] : [{ kind: 'ping' }];
  }
}
