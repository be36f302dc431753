import { Argument, Command } from 'commander';
import { quoted } from '#bootstrap';
import { events } from '#contracts';
import type { DeadLetter, DeadLetters } from '#messaging';
import type { AuditedRpcClient } from '../audited-calls.js';
import { print } from '../terminal.js';

export type WithDeadLetters = (work: (letters: DeadLetters, rpc: AuditedRpcClient) => Promise<void>) => Promise<void>;

const SERVICE_WIDTH = 16;
const SERVICES = [...new Set(Object.values(events).flatMap(({ subscribers }) => subscribers))].sort();

export function deadLettersCommand(withDeadLetters: WithDeadLetters): Command {
  return new Command('dead-letters')
    .description('count, replay or drop events that a service repeatedly failed to handle')
    .addHelpText('after', '\nThe log of the service has the error of each event. AMQP_URL names the broker.')
    .addCommand(count(withDeadLetters))
    .addCommand(replay(withDeadLetters))
    .addCommand(drop(withDeadLetters));
}

function count(withDeadLetters: WithDeadLetters): Command {
  return new Command('count').description('show the number of dead letters of each service').action(() =>
    withDeadLetters(async (letters) => {
      for (const service of SERVICES) print(`${service.padEnd(SERVICE_WIDTH)}${await letters.count(service)}`);
    }),
  );
}

function replay(withDeadLetters: WithDeadLetters): Command {
  return new Command('replay')
    .addArgument(serviceArgument())
    .description('return them to the service, which handles them like new events (fix the cause first)')
    .action((service: string) =>
      withDeadLetters((letters, rpc) =>
        move(rpc, { action: 'replayDeadLetters', target: service, done: 'replayed' }, (report) =>
          letters.replay(service, report),
        ),
      ),
    );
}

function drop(withDeadLetters: WithDeadLetters): Command {
  return new Command('drop')
    .addArgument(serviceArgument())
    .description('delete them; their work is never done')
    .action((service: string) =>
      withDeadLetters((letters, rpc) =>
        move(rpc, { action: 'dropDeadLetters', target: service, done: 'dropped' }, (report) =>
          letters.drop(service, report),
        ),
      ),
    );
}

function serviceArgument(): Argument {
  return new Argument('<service>').choices(SERVICES);
}

async function move(
  rpc: AuditedRpcClient,
  { done, ...act }: { readonly action: string; readonly target: string; readonly done: string },
  work: (report: (letter: DeadLetter) => void) => Promise<void>,
): Promise<void> {
  let count = 0;
  const report = ({ id, pattern, reason }: DeadLetter) => {
    count += 1;
    print(`${id}  ${pattern}  ${quoted(reason)}`);
  };
  await rpc.record({ ...act, change: {} }, () => work(report));
  print(`${count} ${count === 1 ? 'event was' : 'events were'} ${done}.`);
}
