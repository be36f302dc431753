import { setTimeout as sleep } from 'node:timers/promises';
import { Command } from 'commander';
import { MAX_USERS_WITHOUT_SEARCH_INDEX, type RpcReply, userSearchRpc } from '#contracts';
import type { RpcClient } from '#messaging';
import type { WithServer } from '../operator-connection.js';
import { print, reportFailure } from '../terminal.js';

const POLL_MS = 500;
const MEBIBYTE = 1_048_576;

const HELP = `
Operators find users by the beginning of a username, an e-mail address, a phone number or an id without this index.
It serves searches for any part of a username, an address or a number, which are refused above ${MAX_USERS_WITHOUT_SEARCH_INDEX.toLocaleString('en')} users
without it. It uses the extension pg_trgm of PostgreSQL, needs memory, and slows down sign-ups.`;

/** `gatepost search …` */
export function searchCommand(withServer: WithServer): Command {
  return new Command('search')
    .description('switch the search for a part of a username, address or number on and off')
    .addHelpText('after', HELP)
    .addCommand(enable(withServer))
    .addCommand(status(withServer))
    .addCommand(disable(withServer));
}

function enable(withServer: WithServer): Command {
  return ofApplication('enable')
    .description('build the search index of an application without blocking requests, and show the progress')
    .addHelpText('after', '\nThe server builds the index: interrupting this command does not stop it.')
    .action((appId: string) =>
      withServer(async (rpc) => {
        await rpc.call(userSearchRpc.addIndex, { appId });
        await watch(rpc, appId);
      }),
    );
}

function status(withServer: WithServer): Command {
  return ofApplication('status')
    .description('show the state and the size of the search index')
    .action((appId: string) =>
      withServer(async (rpc) => {
        print(lineOf(await rpc.call(userSearchRpc.getIndex, { appId })));
      }),
    );
}

function disable(withServer: WithServer): Command {
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

type SearchIndex = RpcReply<typeof userSearchRpc.getIndex>;

/** Prints each change of the progress until the index is built. */
async function watch(rpc: RpcClient, appId: string): Promise<void> {
  let shown: string | undefined;
  for (;;) {
    const index = await rpc.call(userSearchRpc.getIndex, { appId });
    if (index.state === 'off') throw new Error('The search index was removed in the meantime.');
    const line = lineOf(index);
    if (line !== shown) print(line);
    shown = line;
    if (index.state === 'failed') reportFailure();
    if (index.state !== 'building') return;
    await sleep(POLL_MS);
  }
}

function lineOf({ state, problem, progress, bytes, isContainsPossible }: SearchIndex): string {
  if (state === 'off')
    return isContainsPossible ? 'off  few users: searches need no index' : 'off  searches for a part are refused';
  if (state !== 'building') return `${state}  ${problem ?? `${(bytes / MEBIBYTE).toFixed(1)} MiB`}`;
  if (progress === null) return `${state}  waits for its turn, or gathers statistics`;
  return `${state}  ${progress.phase}${progress.percent === null ? '' : `, ${progress.percent} %`}`;
}
