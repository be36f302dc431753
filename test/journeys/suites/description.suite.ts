import fc from 'fast-check';
import { beforeAll, describe, expect, it, type RunnerTask } from 'vitest';
import {
  ApiClient,
  appClient,
  type GatepostServer,
  masterClient,
  type ObservedAnswer,
  observedAnswers,
} from '#testing';
import type { OpenApiDocument } from '../../../apps/gateway/src/openapi/openapi.types.js';
import { RequestArbitraries } from '../../hostile/request-arbitrary.js';
import { ApiDescription, type DescribedOperation } from './api-description.js';

const OVER_THE_LIMIT = 'x'.repeat(1_100_000);

/** The answers to a request that reaches no route: unknown path, unreadable, or unknown sender. */
const WITHOUT_ROUTE = ['400/107', '401/401', '404/101'];

/** Described, but nothing that these suites could order; each has a test of its own elsewhere, or cannot have one. */
const NOT_PROVOKED_HERE: Readonly<Record<string, string>> = {
  '431/413': 'the HTTP parser answers, before there is a route: tested once, below',
  '429/429': 'limits need a server with its own settings; test/journeys/rate-limits.e2e-spec.ts',
  '500/1': 'a mistake of ours; that it is answered so: apps/gateway/test/gateway.e2e-spec.ts',
  '503/503': 'something is away; test/journeys/operations.e2e-spec.ts',
  '429': 'the same, of a page; apps/gateway/test/pages.e2e-spec.ts',
  '500': 'the same, of a page; apps/gateway/test/pages.e2e-spec.ts',
  '503': 'the same, of /readyz and of a page',
  '400/124': 'a query over its time; test/journeys/operations.e2e-spec.ts',
  'GET /1.1/notifications 400/116': 'as of GET /1.1/users',
  'GET /1.1/roles 400/116': 'as of GET /1.1/users',
  'GET /1.1/installations 400/116': 'as of GET /1.1/users',
  'GET /1.1/installations/{objectId} 400/116': 'as of GET /1.1/users/{objectId}',
  'GET /1.1/scan/classes/{className} 400/116': 'as of GET /1.1/users',
  '400/601': 'ten messages to a number take minutes; apps/accounts/src/phone-numbers/sms-codes.service.db-spec.ts',
  'POST /1.1/usersByMobilePhone 400/214': 'another user takes the number at the same moment',
  'POST /pages/verify-email/renew 200': 'links live for a week; test/journeys/expired-links.e2e-spec.ts',
  'GET /1.1/roles/{objectId} 400/116': 'as of GET /1.1/users/{objectId}',
  ...Object.fromEntries(
    ['502/1', '504/124', '508/508'].map((answer) => [
      `POST /1.1/batch/save ${answer}`,
      'of a forwarded save; apps/gateway/test/forwarding.e2e-spec.ts',
    ]),
  ),
  ...sameAsPost('GET /1.1/login', [125, 127, 200, 201, 211, 212, 213, 215, 216, 217, 218, 219, 603]),
  ...sameAsPost('GET /1.1/verifyMobilePhone/{code}', [127, 213, 603]),
};

/** One function serves both methods. */
function sameAsPost(route: string, codes: readonly number[]): Record<string, string> {
  return Object.fromEntries(codes.map((code) => [`${route} 400/${code}`, 'as of the POST']));
}

/**
 * The server's description of its endpoints, compared with all answers that the clients of this file got. Must come last: it knows only
 * the answers to the tests before it.
 */
export function describeApiDescription(server: () => GatepostServer): void {
  describe('what the API says of itself', () => {
    let document: OpenApiDocument;
    let api: ApiDescription;
    const seen = () => observedAnswers(server().baseUrls);

    beforeAll(async () => {
      const { body } = await new ApiClient(server().baseUrls[0] ?? '', {}).get('/openapi.json');
      document = body as unknown as OpenApiDocument;
      api = new ApiDescription(document);
    });

    it('every endpoint that needs credentials refuses a request without', async () => {
      const anonymous = new ApiClient(server().baseUrls[0] ?? '', {});
      for (const { method, path, operation } of api.operations.filter(
        ({ operation: { security } }) => security.length > 0,
      )) {
        const { status, body } = await anonymous.send(method, urlOf(path), {});
        expect([status, body['code']], operation.operationId).toEqual([401, 401]);
      }
    });

    it('every endpoint that takes a body refuses one that cannot be parsed', async () => {
      const master = masterClient(server());
      const unreadable: [string, number, number][] = [
        ['hello', 400, 107],
        ['{"__proto__": {"isAdmin": true}}', 400, 105],
        ['{"level": 1e400}', 400, 111],
        [OVER_THE_LIMIT, 413, 413],
      ];
      for (const { method, path, operation } of api.operations.filter(takesJson)) {
        for (const [sent, status, code] of unreadable) {
          const reply = await master.send(method, urlOf(path), { body: sent });
          expect([reply.status, reply.body['code']], operation.operationId).toEqual([status, code]);
        }
      }
    });

    it('headers over 16 KiB are refused', async () => {
      const { status, body } = await appClient(server()).get('/1.1/date', {
        headers: { 'x-long': 'x'.repeat(20_000) },
      });
      expect([status, body['code']]).toEqual([431, 413]);
    });

    it('says enough to make requests for the hostile tests, which run by name only', () => {
      const arbitraries = new RequestArbitraries(document);
      for (const operation of api.operations) expect(fc.sample(arbitraries.to(operation), 2)).toHaveLength(2);
    });

    it('describes every answer that these tests saw', () => {
      const strange = seen().filter((answer) => !isDescribed(api, answer));
      expect(lines(strange)).toEqual([]);
    });

    it('describes the body of every answer that is no error', () => {
      const mistakes = seen().flatMap((answer) => {
        const operation = answer.status < 400 ? api.find(answer) : undefined;
        const mistake = operation && api.mistakeOf(operation, answer);
        return mistake === undefined ? [] : [`${answer.method} ${answer.path}: ${mistake}`];
      });
      expect([...new Set(mistakes)]).toEqual([]);
    });

    it('describes nothing that these tests did not see', ({ task, skip }) => {
      skip(!isAllElsePassed(task.file.tasks, task), 'only some of the tests ran, or some failed');
      const answered = new Set(seen().flatMap((answer) => namesOf(api.find(answer), answer)));
      const never = api.operations
        .flatMap((operation) => api.answersOf(operation).map((answer) => ({ operation, answer })))
        .filter(({ answer }) => !(answer in NOT_PROVOKED_HERE))
        .map(({ operation, answer }) => `${operation.method} ${operation.mainPath} ${answer}`)
        .filter((name) => !(name in NOT_PROVOKED_HERE));
      expect([...new Set(never)].filter((name) => !answered.has(name))).toEqual([]);
    });
  });
}

/** Pages take forms. */
function takesJson({ method, operation: { tags } }: DescribedOperation): boolean {
  return method !== 'GET' && tags[0] !== 'Pages';
}

function isDescribed(api: ApiDescription, answer: ObservedAnswer): boolean {
  const operation = api.find(answer);
  if (operation === undefined) return answer.method === 'OPTIONS' || WITHOUT_ROUTE.includes(answerName(answer));
  return api.answersOf(operation).includes(answerName(answer));
}

/** An answer under the name of what it answers; an alias counts for the path that it stands for. */
function namesOf(operation: DescribedOperation | undefined, answer: ObservedAnswer): string[] {
  return operation === undefined ? [] : [`${operation.method} ${operation.mainPath} ${answerName(answer)}`];
}

/** `200`, or `400/211`. */
function answerName({ status, text }: ObservedAnswer): string {
  const code = status < 400 ? undefined : /"code":(\d+)/.exec(text)?.[1];
  return code === undefined ? String(status) : `${status}/${code}`;
}

/** The answers as short lines, each once. */
function lines(answers: readonly ObservedAnswer[]): string[] {
  return [...new Set(answers.map((answer) => `${answer.method} ${answer.path.slice(0, 200)} ${answerName(answer)}`))];
}

/** A URL of the path, with an unknown id. */
function urlOf(path: string): string {
  return path.replaceAll(/\{\w+\}/g, 'a'.repeat(24));
}

/** With `vitest -t` the tests that were not selected are skipped. */
function isAllElsePassed(tasks: readonly RunnerTask[], self: RunnerTask): boolean {
  return tasks.every((task) =>
    task.type === 'suite' ? isAllElsePassed(task.tasks, self) : task === self || task.result?.state === 'pass',
  );
}
