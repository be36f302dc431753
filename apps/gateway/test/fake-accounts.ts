import { appError, toAppError, toWireError } from '#errors';
import { InProcessTransport } from '#messaging';

export const APPLICATION = {
  id: 'fake-application',
  name: 'fake',
  appKey: 'fake-app-key',
  masterKey: 'fake-master-key',
  settings: {},
  createdAt: '2026-01-01T00:00:00.000Z',
};

type Answer = (data: Record<string, unknown>) => unknown;

/** Replaces the accounts service: has one application and the answers that a test sets, and rejects all other calls. */
export class FakeAccounts extends InProcessTransport {
  readonly calls: { pattern: string; data: Record<string, unknown> }[] = [];
  readonly #answers = new Map<string, Answer>([
    ['accounts.findApplication', ({ appId }) => ({ application: appId === APPLICATION.id ? APPLICATION : null })],
    ['accounts.listApplicationIds', () => ({ appIds: [APPLICATION.id] })],
  ]);

  answer(pattern: string, answer: Answer): void {
    this.#answers.set(pattern, answer);
  }

  /** The patterns of the calls, without look-ups of applications. */
  get calledPatterns(): string[] {
    return this.calls
      .map(({ pattern }) => pattern)
      .filter((pattern) => !['accounts.findApplication', 'accounts.listApplicationIds'].includes(pattern));
  }

  override async request(pattern: string, body: string): Promise<string> {
    const { data } = JSON.parse(body) as { data: Record<string, unknown> };
    this.calls.push({ pattern, data });
    try {
      const answer = this.#answers.get(pattern);
      if (answer === undefined) throw appError('INTERNAL', { message: `unplanned call of ${pattern}` });
      return JSON.stringify({ data: await answer(data) });
    } catch (thrown) {
      return JSON.stringify({ error: toWireError(toAppError(thrown)) });
    }
  }
}
