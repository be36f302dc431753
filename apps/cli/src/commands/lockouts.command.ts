import { Command } from 'commander';
import { quoted } from '#bootstrap';
import { type LockedUser, type LoginMethod, lockoutsRpc } from '#contracts';
import type { WithServer } from '../operator-connection.js';
import { print } from '../terminal.js';

const PAGE_SIZE = 100;
const MINUTE_MS = 60_000;

const METHODS: Readonly<Record<LoginMethod, string>> = {
  username: 'password, by username',
  email: 'password, by e-mail address',
  phone: 'password, by phone number',
  oldPassword: 'old password, in a change of the password',
  code: 'code of a text message',
};

export function lockoutsCommand(withServer: WithServer): Command {
  return new Command('lockouts')
    .description('show users that are locked out after too many failed logins')
    .addHelpText(
      'after',
      '\nA lock expires by itself, or ends when the user resets the password. This command cannot end it.',
    )
    .addCommand(list(withServer))
    .addCommand(show(withServer));
}

function list(withServer: WithServer): Command {
  return new Command('list')
    .argument('<app-id>')
    .description('list the locked users: end of the lock, user id, username; sorted by the end of the lock')
    .action((appId: string) =>
      withServer(async (rpc) => {
        let after: LockedUser | undefined;
        do {
          const { lockedUsers } = await rpc.call(lockoutsRpc.list, { appId, limit: PAGE_SIZE, after });
          if (after === undefined && lockedUsers.length === 0) print(`No user of ${appId} is locked out.`);
          for (const user of lockedUsers) print(lineOf(user));
          after = lockedUsers.length < PAGE_SIZE ? undefined : lockedUsers.at(-1);
        } while (after !== undefined);
      }),
    );
}

function show(withServer: WithServer): Command {
  return new Command('show')
    .argument('<app-id>')
    .argument('<user>', 'user id or username')
    .description('show whether a user is locked, the end of the lock, and the failed logins')
    .action((appId: string, wanted: string) =>
      withServer(async (rpc) => {
        const found = await rpc.call(lockoutsRpc.get, { appId, user: wanted });
        const { userId, username, lockedUntil, failures } = found;
        const user = `${quoted(username)} (${userId})`;
        if (lockedUntil !== null)
          print(`${user} is locked until ${lockedUntil}, for another ${minutesUntil(lockedUntil)} min.`);
        else print(`${user} is not locked. Failed attempts counted now: ${failures}.`);
        for (const { at, method } of found.failedLogins)
          print(`  ${at}  ${method === null ? 'unknown' : METHODS[method]}`);
      }),
    );
}

function lineOf({ userId, username, lockedUntil }: LockedUser): string {
  return `${lockedUntil}  ${userId.padEnd(24)}  ${username === null ? 'no user has this name' : quoted(username)}`;
}

function minutesUntil(time: string): number {
  return Math.max(0, Math.ceil((Date.parse(time) - Date.now()) / MINUTE_MS));
}
