import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { TtlCache } from '#bootstrap';
import { ConsoleRequest, type RequestParts } from '../routing/console-handler.js';

/** Answers of one route. More of them are seldom read within a second. */
const MAX_ANSWERS = 200;

type Handler = (asked: ConsoleRequest) => unknown;
type Question = Pick<RequestParts<never>, 'params' | 'query'>;

/** One answer for all requests of a route within a second, so that many open pages cost the services as much as one. */
@Injectable()
export class SharedAnswers {
  readonly #caches: TtlCache<object>[] = [];

  /** The handler gets path and query only: its answer cannot depend on the operator, whose rights are judged before. */
  sharing(handle: Handler): Handler {
    const cache = new TtlCache(
      async (key) => {
        const question = JSON.parse(key) as Question;
        const without = { network: '', browser: '', cookies: [], body: {} as never, signedIn: undefined };
        return (await handle(new ConsoleRequest({ id: randomUUID(), ...without, ...question }))) as object;
      },
      { maxEntries: MAX_ANSWERS },
    );
    this.#caches.push(cache);
    return ({ params, query }) => cache.get(JSON.stringify({ params, query }));
  }

  /** After an act: the next request of each route reads again. */
  clear(): void {
    for (const cache of this.#caches) cache.clear();
  }
}
