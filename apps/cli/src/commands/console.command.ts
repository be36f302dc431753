import { Command } from 'commander';
import { quoted } from '#bootstrap';
import { consoleRpc, MAX_AUDIT_PAGE } from '#contracts';
import { systemUser } from '../audited-calls.js';
import type { WithServer } from '../operator-connection.js';
import { print } from '../terminal.js';

export function consoleCommand(withServer: WithServer): Command {
  return new Command('console')
    .description('let operators into the console, and read its audit log')
    .addCommand(link(withServer))
    .addCommand(operators(withServer))
    .addCommand(recover(withServer))
    .addCommand(disable(withServer))
    .addCommand(audit(withServer));
}

function link(withServer: WithServer): Command {
  return new Command('link')
    .description('print the link with which the first owner signs up (once, within an hour)')
    .action(() =>
      withServer(async (rpc) => {
        const { link: made } = await rpc.call(consoleRpc.createSetUpLink, { by: systemUser() });
        print(made === null ? 'The console has an owner. Owners invite others on its page "Operators".' : made.url);
      }),
    );
}

function operators(withServer: WithServer): Command {
  return new Command('operators')
    .description('list the operators: address, name, state, roles by application (* for all), last sign-in')
    .action(() =>
      withServer(async (rpc) => {
        const { operators: all } = await rpc.call(consoleRpc.listOperators, {});
        if (all.length === 0)
          print('There is no operator yet. Print a link for the first owner: npm run gatepost -- console link');
        for (const { address, name, isOwner, state, grants, lastSeenAt } of all) {
          const roles = [...(isOwner ? ['owner'] : []), ...grants.map(({ appId, role }) => `${appId}:${role}`)];
          print(`${address}  ${quoted(name)}  ${state}  ${roles.join(' ') || '-'}  ${lastSeenAt ?? 'never'}`);
        }
      }),
    );
}

function recover(withServer: WithServer): Command {
  return new Command('recover')
    .argument('<address>', 'the e-mail address of the operator')
    .description(
      'print a link with which an operator sets a new password (once, within 24 hours); the sessions then end',
    )
    .action((address: string) =>
      withServer(async (rpc) => {
        print((await rpc.call(consoleRpc.recoverOperator, { address, by: systemUser() })).link.url);
      }),
    );
}

function disable(withServer: WithServer): Command {
  return new Command('disable')
    .argument('<address>', 'the e-mail address of the operator')
    .description('end the sessions of an operator, and refuse further sign-ins')
    .action((address: string) =>
      withServer(async (rpc) => {
        await rpc.call(consoleRpc.disableOperator, { address, by: systemUser() });
        print(`${address} is disabled.`);
      }),
    );
}

interface AuditOptions {
  readonly app?: string;
  readonly action?: string;
}

function audit(withServer: WithServer): Command {
  return new Command('audit')
    .option('--app <app-id>', 'only acts on this application')
    .option('--action <action>', 'only this act, such as rotateKeys')
    .description('print the newest 200 acts of operators: time, operator, way, act, application, target, outcome')
    .action(({ app: appId, action }: AuditOptions) =>
      withServer(async (rpc) => {
        const { entries } = await rpc.call(consoleRpc.listAudit, { appId, action, limit: MAX_AUDIT_PAGE });
        if (entries.length === 0) print('The audit log has no such act.');
        for (const { begunAt, operatorName, way, outcome, errorName, ...act } of entries) {
          const places = [act.action, act.appId ?? '-', act.target === null ? '-' : quoted(act.target)];
          const result = errorName === null ? outcome : `${outcome} (${errorName})`;
          print(`${begunAt}  ${quoted(operatorName)}  ${way}  ${places.join('  ')}  ${result}`);
        }
      }),
    );
}
