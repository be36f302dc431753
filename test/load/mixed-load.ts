import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { ApiClient, type ApiReply, type AppKeys, unique } from '#testing';
import type { Letterbox } from './letterbox.js';
import { LinkClicks } from './link-clicks.js';
import { LoadUser, type Outcome } from './load-user.js';
import { type Asked, Requests } from './requests.js';

/** Between two requests of one worker: the machine also starts and stops processes. */
const THINK_MS = 20;
/** A client that got no answer comes back after this. */
const RETURN_MS = 500;
/** Longer than a service works on an abandoned change: only afterwards a later change of the user certainly comes later. */
const SETTLED_MS = 6_000;
/** Between the beginnings of two lives: each owes two mails, and a fast machine would ask for more than a slow SMTP server takes. */
const LIFE_INTERVAL_MS = 100;
const INCREMENTS = 8;
const PUSH_INTERVAL_MS = 500;
const BURST_USERS = 20;
const BURST_PUSHES = 4;

/** The message of a push whose request was not answered, and of those that were, their ids. */
interface Pushes {
  readonly acknowledged: string[];
  readonly unknown: string[];
  /** By id: when it was sent and when it was answered. */
  readonly times: Map<string, { readonly sentAt: number; readonly answeredAt: number }>;
}

interface LoadOptions {
  /** Of the API. */
  readonly url: string;
  readonly app: AppKeys;
  readonly letters: Letterbox;
}

/** The usual requests of an app's users, repeated, and the server's acknowledgements. No request is sent twice. */
export class MixedLoad {
  readonly requests = new Requests();
  readonly users: LoadUser[] = [];
  /** By the anonymous id that was asked for: the user that was acknowledged, or undefined where none was. */
  readonly anonymous = new Map<string, string | undefined>();
  readonly pushes: Pushes = { acknowledged: [], unknown: [], times: new Map() };
  readonly #clicks: LinkClicks;
  readonly #app: ApiClient;
  readonly #master: ApiClient;
  #isStopping = false;
  #running: Promise<unknown>[] = [];
  #startedAt = 0;
  #durationMs = 0;
  #nextLifeAt = 0;

  constructor({ url, app, letters }: LoadOptions) {
    this.#app = ApiClient.forApp(url, app).acceptingUnavailable();
    this.#master = ApiClient.forMaster(url, app).acceptingUnavailable();
    this.#clicks = new LinkClicks({ api: this.#app, requests: this.requests, letters });
  }

  get requestsPerSecond(): number {
    return Math.round((this.requests.sent * 1_000) / this.#durationMs);
  }

  start(workers: number): void {
    this.#startedAt = performance.now();
    const users = Array.from({ length: workers }, () => this.#repeat(() => this.#liveOnce()));
    const pushes = this.#repeat(async () => {
      await this.push();
      await sleep(PUSH_INTERVAL_MS);
    });
    this.#running.push(
      ...users,
      pushes,
      this.#repeat(() => this.#clicks.takeTurn()),
    );
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    await Promise.all(this.#running);
    this.#durationMs = performance.now() - this.#startedAt;
  }

  /** Many users come in one moment, and a few pushes. */
  burst(): void {
    const users = Array.from({ length: BURST_USERS }, () => this.#arrive());
    this.#running.push(...users, ...Array.from({ length: BURST_PUSHES }, () => this.push()));
  }

  /** Signs up a user. @returns undefined if that was not acknowledged */
  async signUp(): Promise<LoadUser | undefined> {
    const user = new LoadUser();
    this.users.push(user);
    const { username, email } = user;
    const password = user.password.values[0];
    const fields = { username, email, password, score: 0, note: 0 };
    const { outcome, reply } = await this.#ask('sign-up', 201, () => this.#app.post('/1.1/users', fields));
    user.mails.most += 1;
    if (outcome !== 'acknowledged') return undefined;
    user.mails.least += 1;
    user.id = String(reply?.body['objectId']);
    user.session = String(reply?.body['sessionToken']);
    return user;
  }

  async logIn({ username, password }: LoadUser): Promise<Outcome> {
    const credentials = { username, password: password.values[0] };
    return (await this.#ask('login', 200, () => this.#app.post('/1.1/login', credentials))).outcome;
  }

  /** @returns the id of the push; undefined where it was not acknowledged */
  async push(): Promise<string | undefined> {
    const alert = unique('push');
    const sentAt = performance.now();
    const request = { channels: ['fleet'], data: { alert } };
    const { outcome, reply } = await this.#ask('push', 200, () => this.#master.post('/1.1/push', request));
    if (outcome !== 'acknowledged') {
      this.pushes.unknown.push(alert);
      return undefined;
    }
    const id = String(reply?.body['objectId']);
    this.pushes.acknowledged.push(id);
    this.pushes.times.set(id, { sentAt, answeredAt: performance.now() });
    return id;
  }

  async #repeat(work: () => Promise<void>): Promise<void> {
    while (!this.#isStopping) await work();
  }

  async #arrive(): Promise<void> {
    const user = await this.signUp();
    if (user === undefined) return;
    await this.#askForMail(user);
    this.#clicks.expect(user);
  }

  async #liveOnce(): Promise<void> {
    await this.#turnToLive();
    const user = await this.signUp();
    if (user === undefined) return;
    await this.#askForMail(user);
    await this.logIn(user);
    await this.#mistype(user);
    for (let count = 0; count < INCREMENTS; count += 1) await this.#change(user);
    await this.#read(user);
    await this.#comeAnonymously();
    this.#clicks.expect(user);
  }

  async #turnToLive(): Promise<void> {
    const now = performance.now();
    const turnAt = Math.max(now, this.#nextLifeAt);
    this.#nextLifeAt = turnAt + LIFE_INTERVAL_MS;
    await sleep(turnAt - now);
  }

  async #askForMail({ email, mails }: LoadUser): Promise<void> {
    const { outcome } = await this.#ask('verification mail', 200, () =>
      this.#app.post('/1.1/requestEmailVerify', { email }),
    );
    mails.most += 1;
    if (outcome === 'acknowledged') mails.least += 1;
  }

  async #mistype({ username }: LoadUser): Promise<void> {
    const credentials = { username, password: 'wrong' };
    await this.#ask('wrong password', 400, () => this.#app.post('/1.1/login', credentials));
  }

  async #change(user: LoadUser): Promise<void> {
    const note = (user.note.values.at(-1) ?? 0) + 1;
    const fields = { score: { __op: 'Increment', amount: 1 }, note };
    const { outcome } = await this.#ask('update', 200, () =>
      this.#app.put(`/1.1/users/${user.id}`, fields, { session: user.session }),
    );
    user.score.apply((score) => score + 1, outcome);
    user.note.apply(() => note, outcome);
    if (outcome === 'unknown') await sleep(SETTLED_MS);
  }

  async #read({ session, score, note }: LoadUser): Promise<void> {
    const { reply } = await this.#ask('session read', 200, () => this.#app.get('/1.1/users/me', { session }));
    if (reply === undefined) return;
    const [readScore, readNote] = [Number(reply.body['score']), Number(reply.body['note'])];
    if (!score.allows(readScore) || !note.allows(readNote))
      this.requests.failures.push(
        `session read: ${readScore}, ${readNote} instead of one of ${String(score.values)}, ${String(note.values)}`,
      );
  }

  async #comeAnonymously(): Promise<void> {
    const id = randomUUID();
    const authData = { anonymous: { id } };
    this.anonymous.set(id, undefined);
    const { outcome, reply } = await this.#ask('anonymous sign-up', 201, () =>
      this.#app.post('/1.1/users', { authData }),
    );
    if (outcome === 'acknowledged') this.anonymous.set(id, String(reply?.body['objectId']));
  }

  async #ask(kind: string, expected: number, send: () => Promise<ApiReply>): Promise<Asked> {
    const asked = await this.requests.ask(kind, expected, send);
    await sleep(asked.outcome === 'unknown' ? RETURN_MS : THINK_MS);
    return asked;
  }
}
