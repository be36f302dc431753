import { Argument, Command } from 'commander';
import { events } from '#contracts';
import type { DeadLetter, DeadLetters } from '#messaging';
import { print, quoted } from '../terminal.js';

/** Does a command's work with the dead letters, and ends the connection. */
type WithDeadLetters = (work: (letters: DeadLetters) => Promise<void>) => Promise<void>;

const SERVICE_WIDTH = 16;
const SERVICES = [...new Set(Object.values(events).flatMap(({ subscribers }) => subscribers))].sort();

/** `gatepost dead-letters …` */
export function deadLettersCommand(withDeadLetters: WithDeadLetters): Command {
  return new Command('dead-letters')
    .description('events that a service could not handle, again and again: count, replay or drop them')
    .addHelpText('after', '\nThe log of the service says of each why it died. AMQP_URL names the broker.')
    .addCommand(count(withDeadLetters))
    .addCommand(replay(withDeadLetters))
    .addCommand(drop(withDeadLetters));
}

function count(withDeadLetters: WithDeadLetters): Command {
  return new Command('count').description('say how many there are, by service').action(() =>
    withDeadLetters(async (letters) => {
      for (const service of SERVICES) print(`${service.padEnd(SERVICE_WIDTH)}${await letters.count(service)}`);
    }),
  );
}

function replay(withDeadLetters: WithDeadLetters): Command {
  return new Command('replay')
    .addArgument(serviceArgument())
    .description('give them back to the service, which handles them as new ones (after you have mended the cause)')
    .action((service: string) =>
      withDeadLetters((letters) => move('replayed', (tell) => letters.replay(service, tell))),
    );
}

function drop(withDeadLetters: WithDeadLetters): Command {
  return new Command('drop')
    .addArgument(serviceArgument())
    .description('forget them; what they asked for never happens')
    .action((service: string) => withDeadLetters((letters) => move('dropped', (tell) => letters.drop(service, tell))));
}

function serviceArgument(): Argument {
  return new Argument('<service>').choices(SERVICES);
}

async function move(done: string, work: (tell: (letter: DeadLetter) => void) => Promise<void>): Promise<void> {
  let count = 0;
  await work(({ id, pattern, reason }) => {
    count += 1;
    print(`${id}  ${pattern}  ${quoted(reason)}`);
  });
  print(`${count} ${count === 1 ? 'event was' : 'events were'} ${done}.`);
}
