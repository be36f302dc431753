import { setTimeout as sleep } from 'node:timers/promises';
import { type ApiClient, type ApiReply, unique } from '#testing';
import type { Letterbox } from './letterbox.js';
import type { LoadUser, Outcome } from './load-user.js';
import type { Requests } from './requests.js';

const LOOK_MS = 200;
/** A user without an answer waits before the next click. */
const RETURN_MS = 500;

interface ClickOptions {
  readonly api: ApiClient;
  readonly requests: Requests;
  readonly letters: Letterbox;
}

/** Follows the links of mails as they come: each user verifies the address, and every other one then resets the password. */
export class LinkClicks {
  readonly #verifying: LoadUser[] = [];
  readonly #resetting: LoadUser[] = [];
  readonly #page: ApiClient;
  #verified = 0;

  constructor(private readonly options: ClickOptions) {
    this.#page = options.api.as({});
  }

  /** From now on the mails of the user are looked for. */
  expect(user: LoadUser): void {
    this.#verifying.push(user);
  }

  /** Follows the links that have come, and waits a moment. */
  async takeTurn(): Promise<void> {
    const { letters } = this.options;
    await letters.fetch();
    for (const user of this.#verifying.splice(0)) {
      const link = letters.linkTo(user.email, 'verify-email');
      if (link === undefined) this.#verifying.push(user);
      else await this.#verify(user, link.token);
    }
    for (const user of this.#resetting.splice(0)) {
      const link = letters.linkTo(user.email, 'reset-password');
      if (link === undefined) this.#resetting.push(user);
      else await this.#reset(user, link.token);
    }
    await sleep(LOOK_MS);
  }

  async #verify(user: LoadUser, token: string): Promise<void> {
    const outcome = await this.#ask('verification link', () => this.#page.post(`/1.1/verifyEmail/${token}`));
    user.isVerified.apply(() => true, outcome);
    this.#verified += 1;
    if (this.#verified % 2 === 0) await this.#askForReset(user);
  }

  async #askForReset(user: LoadUser): Promise<void> {
    const { email, mails } = user;
    const outcome = await this.#ask('reset mail', () => this.options.api.post('/1.1/requestPasswordReset', { email }));
    mails.most += 1;
    // A mail may arrive all the same, but a user who got an error does not wait for it.
    if (outcome !== 'acknowledged') return;
    mails.least += 1;
    this.#resetting.push(user);
  }

  async #reset(user: LoadUser, token: string): Promise<void> {
    const password = unique('password');
    const outcome = await this.#ask('reset link', () => this.#page.post(`/1.1/resetPassword/${token}`, { password }));
    user.password.apply(() => password, outcome);
    // The user of a mailed link has the address.
    user.isVerified.apply(() => true, outcome);
  }

  async #ask(kind: string, send: () => Promise<ApiReply>): Promise<Outcome> {
    const { outcome } = await this.options.requests.ask(kind, 200, send);
    if (outcome === 'unknown') await sleep(RETURN_MS);
    return outcome;
  }
}
