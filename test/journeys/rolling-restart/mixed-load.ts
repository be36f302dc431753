import { setTimeout as sleep } from 'node:timers/promises';
import { type ApiClient, type ApiReply, signUp, type TestUser, unique } from '#testing';

/** Between two requests of one worker: the machine also starts and stops processes. */
const THINK_MS = 20;
const INCREMENTS = 5;
const PUSH_INTERVAL_MS = 500;

/** A user, and what the server has acknowledged of it. */
interface Acknowledged {
  readonly id: string;
  readonly email: string;
  score: number;
  /** Whether a mail was asked for. */
  isMailed: boolean;
}

/** What an app's users do all day, over and over, and what of it was acknowledged. Whatever is not answered as it should be is a failure. */
export class MixedLoad {
  readonly users: Acknowledged[] = [];
  readonly anonymous: string[] = [];
  readonly pushes: string[] = [];
  readonly failures: string[] = [];
  requests = 0;
  #isStopping = false;
  #running: Promise<unknown> = Promise.resolve();
  #startedAt = 0;
  #durationMs = 0;

  constructor(
    private readonly app: ApiClient,
    private readonly master: ApiClient,
  ) {}

  get requestsPerSecond(): number {
    return Math.round((this.requests * 1_000) / this.#durationMs);
  }

  start(workers: number): void {
    this.#startedAt = performance.now();
    const people = Array.from({ length: workers }, () => this.#repeat(() => this.#liveOnce()));
    this.#running = Promise.all([...people, this.#repeat(() => this.#push())]);
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#running;
    this.#durationMs = performance.now() - this.#startedAt;
  }

  async #repeat(work: () => Promise<void>): Promise<void> {
    while (!this.#isStopping) {
      await work().catch((error: unknown) => {
        this.failures.push(String(error));
      });
    }
  }

  async #liveOnce(): Promise<void> {
    const email = `${unique('rolling')}@example.com`;
    const user = await this.#counted(signUp(this.app, { email, score: 0 }));
    const noted: Acknowledged = { id: user.id, email, score: 0, isMailed: false };
    this.users.push(noted);
    await this.#expect(200, this.app.post('/1.1/requestEmailVerify', { email }));
    noted.isMailed = true;
    const { username, password } = user;
    await this.#expect(200, this.app.post('/1.1/login', { username, password }));
    for (let count = 0; count < INCREMENTS; count += 1) await this.#increment(user, noted);
    const { body } = await this.#expect(200, this.app.get('/1.1/users/me', { session: user.session }));
    if (body['score'] !== noted.score) throw new Error(`score ${String(body['score'])} instead of ${noted.score}`);
    const authData = { anonymous: { id: unique('device') } };
    const anonymous = await this.#expect(201, this.app.post('/1.1/users', { authData }));
    this.anonymous.push(String(anonymous.body['objectId']));
  }

  async #increment({ id, session }: TestUser, noted: Acknowledged): Promise<void> {
    const score = { __op: 'Increment', amount: 1 };
    await this.#expect(200, this.app.put(`/1.1/users/${id}`, { score }, { session }));
    noted.score += 1;
  }

  async #push(): Promise<void> {
    const alert = `push ${this.pushes.length}`;
    const { body } = await this.#expect(200, this.master.post('/1.1/push', { channels: ['fleet'], data: { alert } }));
    this.pushes.push(String(body['objectId']));
    await sleep(PUSH_INTERVAL_MS);
  }

  async #expect(status: number, answer: Promise<ApiReply>): Promise<ApiReply> {
    const reply = await this.#counted(answer);
    if (reply.status !== status) throw new Error(`${reply.status} instead of ${status}: ${reply.text}`);
    return reply;
  }

  async #counted<T>(answer: Promise<T>): Promise<T> {
    this.requests += 1;
    const result = await answer;
    await sleep(THINK_MS);
    return result;
  }
}
