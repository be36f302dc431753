import { setTimeout as sleep } from 'node:timers/promises';
import { Argument, Command } from 'commander';
import { quoted } from '#bootstrap';
import {
  accountsIndexesRpc,
  applicationsRpc,
  CLASS_NAMES,
  type ClassName,
  type FieldIndexesRpc,
  type FieldIndexReport,
  MAX_INDEXED_FIELDS,
  MAX_USERS_WITHOUT_SEARCH_INDEX,
  pushIndexesRpc,
  type RpcReply,
  type SlowQuery,
  userSearchRpc,
} from '#contracts';
import { assertApplication, SilentServiceError, type WithServer } from '../operator-connection.js';
import { print, reportFailure } from '../terminal.js';

const POLL_MS = 500;
const MEBIBYTE = 1_048_576;

const INDEXES_HELP = `
An index speeds up queries that filter or sort by a custom field. It needs memory and slows down writes a little. An index of
several fields serves queries for values of the first fields that sort by the next field or select a range of it.
Custom fields are those without a meaning in the API.`;

const SEARCH_HELP = `
Operators find users by the beginning of a username, an e-mail address, a phone number or an id without this index.
It serves searches for any part of a username, an address or a number, which are refused above ${MAX_USERS_WITHOUT_SEARCH_INDEX.toLocaleString('en')} users
without it. It uses the extension pg_trgm of PostgreSQL, needs memory, and slows down sign-ups.`;

const BUILD_HELP = '\nThe server builds the index: interrupting this command does not stop it.';

export function indexesCommand(withServer: WithServer): Command {
  return new Command('indexes')
    .description('create indexes of custom fields, and suggest indexes for slow queries')
    .addHelpText('after', INDEXES_HELP)
    .addCommand(add(withServer))
    .addCommand(list(withServer))
    .addCommand(remove(withServer))
    .addCommand(suggest(withServer));
}

function add(withServer: WithServer): Command {
  return named('add')
    .description(
      `create an index of up to ${MAX_INDEXED_FIELDS} custom fields without blocking requests, and show its progress`,
    )
    .addHelpText('after', BUILD_HELP)
    .action((appId: string, className: ClassName, fields: string[]) =>
      withServer(async (rpc) => {
        await rpc.call(applicationsRpc.get, { id: appId });
        await rpc.call(contractOf(className).add, { appId, className, fields });
        await watchIndex(async () => {
          const { indexes } = await rpc.call(contractOf(className).list, { appId });
          return indexes.find((each) => each.className === className && each.fields.join() === fields.join());
        }, lineOf);
      }),
    );
}

function list(withServer: WithServer): Command {
  return new Command('list')
    .argument('<app-id>')
    .description('list the indexes of an application: class, fields, state, size')
    .action((appId: string) =>
      withServer(async (rpc) => {
        await assertApplication(rpc, appId);
        const indexes = await fromAll(async (contract) => (await rpc.call(contract.list, { appId })).indexes);
        if (indexes.length === 0) print(`${appId} has no indexes of custom fields.`);
        for (const index of indexes) print(lineOf(index));
      }),
    );
}

function remove(withServer: WithServer): Command {
  return named('remove')
    .description('remove an index: queries stop using it at once, and it is dropped some seconds later')
    .action((appId: string, className: ClassName, fields: string[]) =>
      withServer(async (rpc) => {
        await rpc.call(contractOf(className).remove, { appId, className, fields });
        print(`The index of ${className} (${fields.join(', ')}) is being removed.`);
      }),
    );
}

function suggest(withServer: WithServer): Command {
  return new Command('suggest')
    .argument('<app-id>')
    .description('show queries that took 20 ms or longer in the last day, and the index that would serve them')
    .addHelpText('after', '\nQueries are shown with fields and operators, never with values.')
    .action((appId: string) =>
      withServer(async (rpc) => {
        await assertApplication(rpc, appId);
        const questions = await fromAll(
          async (contract) => (await rpc.call(contract.listSlowQueries, { appId })).questions,
        );
        if (questions.length === 0) print(`No query of ${appId} took 20 ms in the last day.`);
        for (const question of questions) for (const line of linesOf(appId, question)) print(line);
      }),
    );
}

function named(name: string): Command {
  return new Command(name)
    .argument('<app-id>')
    .addArgument(new Argument('<class>').choices(CLASS_NAMES))
    .argument('<field...>', 'custom fields, in the order of the index');
}

function contractOf(className: ClassName): FieldIndexesRpc {
  return className === '_Installation' ? pushIndexesRpc : accountsIndexesRpc;
}

async function fromAll<T>(ask: (contract: FieldIndexesRpc) => Promise<T[]>): Promise<T[]> {
  const orNothing = (error: unknown): T[] => {
    if (!(error instanceof SilentServiceError)) throw error;
    print(error.message);
    return [];
  };
  const ofAccounts = await ask(accountsIndexesRpc).catch(orNothing);
  return [...ofAccounts, ...(await ask(pushIndexesRpc).catch(orNothing))];
}

function lineOf({ className, fields, state, problem, progress, bytes }: FieldIndexReport): string {
  const details = problem ?? (state === 'building' ? progressOf(progress) : `${(bytes / MEBIBYTE).toFixed(1)} MiB`);
  return `${className}  ${fields.join(', ')}  ${state}  ${details}`;
}

function progressOf(progress: FieldIndexReport['progress']): string {
  if (progress === null) return 'waits for its turn, or gathers statistics';
  return progress.percent === null ? progress.phase : `${progress.phase}, ${progress.percent} %`;
}

function linesOf(appId: string, { className, question, runs, meanMs, maxMs, fields, isIndexed }: SlowQuery): string[] {
  const command = `npm run gatepost -- indexes add ${appId} ${className} ${fields.join(' ')}`;
  const advice = isIndexed ? 'its index is there: it takes long all the same' : command;
  return [
    `${className}  ${quoted(question)}  ${runs} times  ${meanMs} ms on average, ${maxMs} ms at most`,
    `  ${fields.length === 0 ? 'no index of custom fields would serve it' : advice}`,
  ];
}

export function searchCommand(withServer: WithServer): Command {
  return new Command('search')
    .description('switch the search for a part of a username, address or number on and off')
    .addHelpText('after', SEARCH_HELP)
    .addCommand(enableSearch(withServer))
    .addCommand(searchStatus(withServer))
    .addCommand(disableSearch(withServer));
}

function enableSearch(withServer: WithServer): Command {
  return ofApplication('enable')
    .description('build the search index of an application without blocking requests, and show the progress')
    .addHelpText('after', BUILD_HELP)
    .action((appId: string) =>
      withServer(async (rpc) => {
        await rpc.call(userSearchRpc.addIndex, { appId });
        await watchIndex(() => rpc.call(userSearchRpc.getIndex, { appId }), searchLineOf);
      }),
    );
}

function searchStatus(withServer: WithServer): Command {
  return ofApplication('status')
    .description('show the state and the size of the search index')
    .action((appId: string) =>
      withServer(async (rpc) => {
        print(searchLineOf(await rpc.call(userSearchRpc.getIndex, { appId })));
      }),
    );
}

function disableSearch(withServer: WithServer): Command {
  return ofApplication('disable')
    .description('remove the search index: searches stop using it at once, and it is dropped some seconds later')
    .action((appId: string) =>
      withServer(async (rpc) => {
        await rpc.call(userSearchRpc.removeIndex, { appId });
        print(`The search index of ${appId} is being removed.`);
      }),
    );
}

function ofApplication(name: string): Command {
  return new Command(name).argument('<app-id>');
}

function searchLineOf({
  state,
  problem,
  progress,
  bytes,
  isContainsPossible,
}: RpcReply<typeof userSearchRpc.getIndex>): string {
  if (state === 'off')
    return isContainsPossible ? 'off  few users: searches need no index' : 'off  searches for a part are refused';
  if (state !== 'building') return `${state}  ${problem ?? `${(bytes / MEBIBYTE).toFixed(1)} MiB`}`;
  return `${state}  ${progressOf(progress)}`;
}

async function watchIndex<Index extends { readonly state: string }>(
  read: () => Promise<Index | undefined>,
  describe: (index: Index) => string,
): Promise<void> {
  let shown: string | undefined;
  for (;;) {
    const index = await read();
    if (index === undefined || index.state === 'off') throw new Error('The index was removed in the meantime.');
    const line = describe(index);
    if (line !== shown) print(line);
    shown = line;
    if (index.state === 'failed') reportFailure();
    if (index.state !== 'building') return;
    await sleep(POLL_MS);
  }
}
