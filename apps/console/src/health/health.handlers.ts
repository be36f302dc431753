import { Inject, Injectable } from '@nestjs/common';
import { deploymentFindings, secretFindings, TtlCache } from '#bootstrap';
import { consoleApi, DEAD_LETTER_SERVICES } from '#console-api';
import { diagnosticsRpc, type ProcessReport } from '#contracts';
import { appError, messageOf } from '#errors';
import { DeadLetters, RpcClient } from '#messaging';
import { BROKER, type Broker } from '../console.config.js';
import { type ConsoleRequest, Handles, type ReplyOf, type RequestOf } from '../routing/console-handler.js';
import { maskedEvent, maskedText } from '../users/user.rules.js';

type Process = ReplyOf<'getHealth'>['processes'][number];

/** The broker distributes requests in turn, so that several requests reach several processes. */
const FIRST_REQUESTS = 4;
const MAX_REQUESTS = 256;
const { standalone, ...OF_SERVICES } = diagnosticsRpc;

@Injectable()
export class HealthHandlers {
  /** One for all routes and operators within a second. */
  readonly #examinations = new TtlCache(() => this.#examine());

  constructor(
    private readonly rpc: RpcClient,
    @Inject(BROKER) private readonly broker: Broker | null,
  ) {}

  @Handles(consoleApi.getHealth)
  async getHealth(): Promise<ReplyOf<'getHealth'>> {
    const outcomes = await this.#examinations.get('');
    return {
      processes: outcomes.flatMap(({ reports }) => reports).map(toProcess),
      silent: outcomes.filter(({ reports }) => reports.length === 0).map(({ service }) => service),
    };
  }

  /** The findings of `npm run gatepost -- doctor` that the processes' reports show. */
  @Handles(consoleApi.getFindings)
  async getFindings({ operator }: Pick<ConsoleRequest, 'operator'>): Promise<ReplyOf<'getFindings'>> {
    const reports = (await this.#examinations.get('')).flatMap((outcome) => outcome.reports);
    const found = [...deploymentFindings(reports), ...(operator.isOwner ? secretFindings(reports) : [])];
    return { items: found.map(({ problem, remedy, isAdvice = false }) => ({ problem, remedy, isAdvice })) };
  }

  #examine(): Promise<{ readonly service: string; readonly reports: readonly ProcessReport[] }[]> {
    const contracts = this.broker === null ? [standalone] : Object.values(OF_SERVICES);
    return Promise.all(
      contracts.map(async (contract) => ({
        service: contract.pattern.replace(/\.diagnose$/, ''),
        reports: await this.#reportsOf(contract),
      })),
    );
  }

  /** Asks all processes of a service, as long as each reply comes from a new one. */
  async #reportsOf(contract: (typeof diagnosticsRpc)[keyof typeof diagnosticsRpc]): Promise<ProcessReport[]> {
    const reports = new Map<string, ProcessReport>();
    let [requested, next] = [0, this.broker === null ? 1 : FIRST_REQUESTS];
    do {
      const replies = await Promise.allSettled(Array.from({ length: next }, () => this.rpc.call(contract, {})));
      const received = replies.flatMap((reply) => (reply.status === 'fulfilled' ? [reply.value] : []));
      for (const report of received) reports.set(report.instance, report);
      requested += next;
      next = requested;
    } while (this.broker !== null && reports.size === requested && requested < MAX_REQUESTS);
    return [...reports.values()];
  }

  @Handles(consoleApi.listDeadLetters)
  async listDeadLetters(): Promise<ReplyOf<'listDeadLetters'>> {
    if (this.broker === null) return { services: null };
    return this.#withLetters(async (letters) => {
      const services = [];
      for (const service of DEAD_LETTER_SERVICES) services.push({ service, messages: await letters.count(service) });
      return { services };
    });
  }

  @Handles(consoleApi.peekDeadLetters)
  async peek(request: RequestOf<'peekDeadLetters'>): Promise<ReplyOf<'peekDeadLetters'>> {
    const { params, body } = request;
    const service = known(params.service);
    const read = await this.#withLetters((letters) => letters.peek(service, body.limit));
    const items = read.map(({ pattern, reason, diedAt, body: event }) => ({
      pattern,
      reason: maskedText(reason),
      diedAt: diedAt?.toISOString() ?? null,
      body: maskedEvent(event),
    }));
    return { items };
  }

  @Handles(consoleApi.replayDeadLetters)
  async replay({ params }: RequestOf<'replayDeadLetters'>): Promise<ReplyOf<'replayDeadLetters'>> {
    const service = known(params.service);
    let replayed = 0;
    await this.#withLetters((letters) => letters.replay(service, () => (replayed += 1)));
    return { replayed };
  }

  @Handles(consoleApi.dropDeadLetters)
  async drop({ params }: RequestOf<'dropDeadLetters'>): Promise<ReplyOf<'dropDeadLetters'>> {
    const service = known(params.service);
    let dropped = 0;
    await this.#withLetters((letters) => letters.drop(service, () => (dropped += 1)));
    return { dropped };
  }

  async #withLetters<T>(work: (letters: DeadLetters) => Promise<T>): Promise<T> {
    if (this.broker === null) throw appError('NOT_FOUND', { message: 'One process has no dead letters.' });
    const letters = await DeadLetters.open(this.broker.url, this.broker.namespace).catch((cause: unknown) => {
      throw appError('SERVICE_UNAVAILABLE', { message: `The message broker: ${messageOf(cause)}`, cause });
    });
    try {
      return await work(letters);
    } finally {
      await letters.close();
    }
  }
}

function known(service: string): string {
  if (DEAD_LETTER_SERVICES.some((each) => each === service)) return service;
  throw appError('NOT_FOUND', { message: `${service} has no event queue.` });
}

function toProcess({ servers, ...report }: ProcessReport): Process {
  return {
    ...report,
    servers: servers.map(({ name, problem, facts }) => ({
      name,
      problem,
      version: facts?.version ?? null,
      skewMs: facts?.skewMs ?? null,
    })),
  };
}
