import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { ApiClient, type GatepostServer } from '#testing';
import type { OpenApiDocument } from '../../apps/gateway/src/openapi/openapi.types.js';
import { ApiDescription, type DescribedOperation } from '../journeys/suites/api-description.js';
import { Fixtures } from './fixtures.js';
import { curlLine, type HostileRequest } from './hostile-request.js';
import { Oracle } from './oracle.js';
import { RequestArbitraries } from './request-arbitrary.js';
import { type Answer, Sender } from './sender.js';

const PARALLEL = 8;
/** As Retry-After says, and a bit. */
const OVERLOADED_MS = 2_000;
const MAX_OVERLOADS = 50;
/** A server that is broken keeps every request waiting: the others are not sent, or the run would last for hours. */
const MAX_UNANSWERED = 10;
/** Attackers delete, rename and log out what is theirs; then they get it anew. */
const REQUESTS_BETWEEN_RENEWALS = 50;

/** After this many requests to an endpoint, it is no accident that none succeeds. */
const ENOUGH_TO_TELL = 80;

/** Counts the answers of each endpoint by kind of status: attacks that are only refused test little. */
class AnswerStatistics {
  readonly #counts = new Map<string, Map<string, number>>();
  #total = 0;

  note(endpoint: string, status: number): void {
    const counts = this.#counts.get(endpoint) ?? new Map<string, number>();
    this.#counts.set(endpoint, counts);
    const kind = `${Math.floor(status / 100)}xx`;
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
    this.#total += 1;
  }

  get total(): number {
    return this.#total;
  }

  /** Which part of all requests was let in. */
  get passedShare(): number {
    const passed = [...this.#counts.values()].map((counts) => (counts.get('2xx') ?? 0) + (counts.get('3xx') ?? 0));
    return passed.reduce((sum, count) => sum + count, 0) / Math.max(1, this.#total);
  }

  hasPassed(endpoint: string): boolean {
    const counts = this.#counts.get(endpoint);
    return counts?.has('2xx') === true || counts?.has('3xx') === true;
  }

  report(): string[] {
    const lines = [...this.#counts].map(([endpoint, counts]) => {
      const parts = [...counts].sort(([a], [b]) => a.localeCompare(b)).map(([kind, count]) => `${kind} ${count}`);
      return `${endpoint.padEnd(60)} ${parts.join(', ')}`;
    });
    return [...lines.sort(), `${'all together'.padEnd(60)} ${this.#total}`];
  }
}

/** An attack on a server: who takes part, what is sent, and what is wrong with the answers. */
export class Attack {
  /** Answers to generated requests, and to those of the corpus. */
  readonly statistics = { generated: new AnswerStatistics(), known: new AnswerStatistics() };
  readonly #sender: Sender;
  readonly #oracle: Oracle;
  #overloads = 0;
  #unanswered = 0;
  #sentAtRenewal = 0;
  #renewal: Promise<void> | undefined;

  private constructor(
    readonly fixtures: Fixtures,
    readonly api: ApiDescription,
    private readonly document: OpenApiDocument,
    { baseUrls }: GatepostServer,
  ) {
    this.#sender = new Sender(baseUrls, fixtures);
    this.#oracle = new Oracle(api, fixtures);
  }

  static async on(server: GatepostServer): Promise<Attack> {
    const { body } = await new ApiClient(server.baseUrls[0] ?? '', {}).get('/openapi.json');
    const document = body as unknown as OpenApiDocument;
    return new Attack(await Fixtures.of(server), new ApiDescription(document), document, server);
  }

  /** So many generated requests, the same number to every endpoint. @returns what was wrong, with how to see it again */
  async generated(requests: number, seed: number): Promise<string[]> {
    const arbitraries = new RequestArbitraries(this.document);
    const numRuns = Math.ceil(requests / this.api.operations.length);
    const failures = await inParallel(this.api.operations, async (operation, index) => {
      const property = fc.asyncProperty(arbitraries.to(operation), (request) => this.#isHarmless(operation, request));
      const outcome = await fc.check(property, { numRuns, seed: seed + index, endOnFailure: false });
      return outcome.failed ? [describeFailure(operation, outcome)] : [];
    });
    return failures.flat();
  }

  /** Requests as they stand in the corpus. @returns what was wrong */
  async listed(requests: readonly HostileRequest[]): Promise<string[]> {
    const failures = await inParallel(requests, async (request) => {
      const mistake = await this.#mistakeIn(request, this.#endpointOf(request), this.statistics.known);
      return mistake === undefined ? [] : [`${shown(request)}\n  ${mistake}`];
    });
    return failures.flat();
  }

  /** How often each endpoint let attackers in, and how often not. */
  report(): string[] {
    const { generated, known } = this.statistics;
    return [
      'Generated requests',
      ...generated.report(),
      'Known attacks',
      ...known.report(),
      `Overloads (503, served when sent again): ${this.#overloads}`,
    ];
  }

  /** Endpoints (by any name) at which no generated request has succeeded; undefined after too few requests. */
  neverLetIn(): string[] | undefined {
    const { generated } = this.statistics;
    if (generated.total < this.api.operations.length * ENOUGH_TO_TELL) return undefined;
    const all = this.api.operations.map(({ method, path, mainPath }) => ({
      main: `${method} ${mainPath}`,
      isOpen: generated.hasPassed(`${method} ${path}`),
    }));
    const open = new Set(all.filter(({ isOpen }) => isOpen).map(({ main }) => main));
    return [...new Set(all.map(({ main }) => main))].filter((main) => !open.has(main)).sort();
  }

  close(): void {
    this.#sender.close();
  }

  async #isHarmless(operation: DescribedOperation, request: HostileRequest): Promise<void> {
    const mistake = await this.#mistakeIn(request, `${operation.method} ${operation.path}`, this.statistics.generated);
    if (mistake !== undefined) throw new Error(mistake);
  }

  async #mistakeIn(
    request: HostileRequest,
    endpoint: string,
    statistics: AnswerStatistics,
  ): Promise<string | undefined> {
    if (this.#unanswered >= MAX_UNANSWERED) return 'was not sent: too many were not answered';
    try {
      await this.#renewed();
      const resolved = this.#sender.resolve(request);
      const answer = await this.#served(resolved);
      statistics.note(endpoint, answer.status);
      return this.#oracle.mistakeIn(resolved, answer);
    } catch (error) {
      this.#unanswered += 1;
      return String(error);
    }
  }

  /** All wait while attackers get anew what they have lost; what fails once is tried again. */
  async #renewed(): Promise<void> {
    if (this.#sender.sent - this.#sentAtRenewal >= REQUESTS_BETWEEN_RENEWALS) {
      this.#sentAtRenewal = this.#sender.sent;
      this.#renewal = this.fixtures.renew().catch(() => this.fixtures.renew());
    }
    await this.#renewal;
  }

  /** A 503 of a machine that is busy is over when the same request is sent again; one that a request causes is not. */
  async #served(request: HostileRequest): Promise<Answer> {
    const answer = await this.#sender.send(request);
    if (answer.status !== 503 || this.#overloads > MAX_OVERLOADS) return answer;
    this.#overloads += 1;
    await sleep(OVERLOADED_MS);
    return this.#sender.send(request);
  }

  #endpointOf({ method, target }: HostileRequest): string {
    const operation = this.api.find({ method, path: target.split('?')[0] ?? '' });
    return operation === undefined ? 'nothing that is described' : `${operation.method} ${operation.path}`;
  }
}

function describeFailure(
  { operation }: DescribedOperation,
  { counterexample, seed, counterexamplePath, errorInstance }: fc.RunDetails<[HostileRequest]>,
): string {
  const [request] = counterexample ?? [];
  const again = `seed ${seed}, path ${counterexamplePath ?? ''}`;
  return `${operation.operationId}: ${String(errorInstance)}\n  ${request === undefined ? '' : shown(request)}\n  (${again})`;
}

const MAX_SHOWN = 500;

function shown(request: HostileRequest): string {
  const line = curlLine(request);
  return line.length > MAX_SHOWN ? `${line.slice(0, MAX_SHOWN)}… (${line.length} characters)` : line;
}

/** Does the work for each item, some at a time, and returns the results in their order. */
async function inParallel<T, R>(items: readonly T[], work: (item: T, index: number) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  let next = 0;
  const workers = Array.from({ length: PARALLEL }, async () => {
    for (let index = next++; index < items.length; index = next++)
      results[index] = await work(items[index] as T, index);
  });
  await Promise.all(workers);
  return results;
}
