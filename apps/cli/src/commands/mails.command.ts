import { Command, InvalidArgumentError, Option } from 'commander';
import { quoted } from '#bootstrap';
import {
  deliveriesRpc,
  DELIVERY_STATUSES,
  MAX_DELIVERY_LIST_LIMIT,
  type RpcData,
  type ShownDelivery,
} from '#contracts';
import type { RpcClient } from '#messaging';
import { assertApplication, type WithServer } from '../operator-connection.js';
import { print } from '../terminal.js';

const DEFAULT_LIMIT = 50;
const STATUS_WIDTH = 7;
const MAX_BATCHES = 50;

interface ListOptions {
  readonly app?: string;
  readonly status?: ShownDelivery['status'];
  readonly to?: string;
  readonly limit: number;
}

export function mailsCommand(withServer: WithServer): Command {
  return new Command('mails')
    .description('show the deliveries of mails and text messages, and retry dead ones')
    .addHelpText('after', '\nThe content of a message is never shown. Messages are deleted after 30 days.')
    .addCommand(list(withServer))
    .addCommand(show(withServer))
    .addCommand(retry(withServer));
}

function list(withServer: WithServer): Command {
  return new Command('list')
    .description(
      'list messages, the newest first: time, status, attempts, id, application, kind, recipient, last error',
    )
    .option('--app <app-id>', 'of this application only')
    .addOption(new Option('--status <status>', 'with this status only').choices(DELIVERY_STATUSES))
    .option('--to <recipient>', 'to this address or number only')
    .option('--limit <count>', 'maximum number of messages', limitOf, DEFAULT_LIMIT)
    .action(({ app, status, to, limit }: ListOptions) =>
      withServer(async (rpc) => {
        if (app !== undefined) await assertApplication(rpc, app);
        const wanted: RpcData<typeof deliveriesRpc.list> = { appId: app, status, recipient: to, limit };
        const { deliveries } = await rpc.call(deliveriesRpc.list, wanted);
        if (deliveries.length === 0) print('There are none.');
        for (const delivery of deliveries) print(lineOf(delivery));
      }),
    );
}

function show(withServer: WithServer): Command {
  return new Command('show')
    .argument('<id>')
    .description('show one message')
    .action((id: string) =>
      withServer(async (rpc) => {
        const { delivery } = await rpc.call(deliveriesRpc.get, { id });
        for (const [name, value] of fieldsOf(delivery)) print(`${name.padEnd(13)} ${value}`);
      }),
    );
}

function retry(withServer: WithServer): Command {
  return new Command('retry')
    .argument('[id]')
    .option('--dead', 'all dead messages whose links and codes are still valid')
    .option('--app <app-id>', 'with --dead: of this application only')
    .description('send a dead message again')
    .action((id: string | undefined, { dead, app }: { dead?: true; app?: string }, command: Command) => {
      if ((id === undefined) === (dead === undefined)) command.error('error: name one message, or use --dead');
      return withServer(async (rpc) => {
        if (id !== undefined) {
          await rpc.call(deliveriesRpc.retry, { id });
          print(`${id} is sent again.`);
          return;
        }
        if (app !== undefined) await assertApplication(rpc, app);
        const total = await retryAllDead(rpc, app);
        print(total === 0 ? 'There is nothing to send again.' : `${total} are sent again.`);
      });
    });
}

/** A batch smaller than the one before is the last: messages can die again meanwhile. */
async function retryAllDead(rpc: RpcClient, appId: string | undefined): Promise<number> {
  let [total, last] = [0, 1];
  for (let batch = 0; batch < MAX_BATCHES; batch += 1) {
    const { retried } = await rpc.call(deliveriesRpc.retryDead, { appId });
    total += retried;
    if (retried === 0 || retried < last) break;
    last = retried;
  }
  return total;
}

function limitOf(text: string): number {
  const limit = Number(text);
  if (Number.isInteger(limit) && limit >= 1 && limit <= MAX_DELIVERY_LIST_LIMIT) return limit;
  throw new InvalidArgumentError(`Expected a number from 1 to ${MAX_DELIVERY_LIST_LIMIT}.`);
}

function lineOf({
  createdAt,
  status,
  attempts,
  id,
  appId,
  channel,
  kind,
  recipient,
  lastError,
}: ShownDelivery): string {
  const parts = [createdAt, status.padEnd(STATUS_WIDTH), String(attempts).padStart(3), id, appId, `${channel}:${kind}`];
  return [...parts, quoted(recipient), ...(lastError === null ? [] : [quoted(lastError)])].join('  ');
}

function fieldsOf(delivery: ShownDelivery): [string, string][] {
  return [
    ['Id', delivery.id],
    ['Application', delivery.appId],
    ['Kind', `${delivery.channel}:${delivery.kind}`],
    ['Recipient', quoted(delivery.recipient)],
    ['User', delivery.userId ?? 'none'],
    ['Status', delivery.status],
    ['Attempts', String(delivery.attempts)],
    ['Last error', delivery.lastError === null ? 'none' : quoted(delivery.lastError)],
    ['Requested', delivery.createdAt],
    ['Expires', delivery.expiresAt],
    ['Next attempt', delivery.nextAttemptAt ?? 'none'],
    ['Settled', delivery.settledAt ?? 'not yet'],
  ];
}
