import { Command } from 'commander';
import {
  type Application,
  applicationsRpc,
  CLASS_NAMES,
  CLASS_OPERATIONS,
  type ClassName,
  type ClassOperation,
  type ClassPermission,
} from '#contracts';
import type { WithServer } from '../operator-connection.js';
import { print } from '../terminal.js';

/** `gatepost permissions …` */
export function permissionsCommand(withServer: WithServer): Command {
  return new Command('permissions')
    .description('show and change what an application lets be done with a class')
    .addCommand(show(withServer))
    .addCommand(set(withServer));
}

function show(withServer: WithServer): Command {
  return new Command('show')
    .argument('<app-id>')
    .description('show who may do what with each class')
    .action((id: string) =>
      withServer(async (rpc) => {
        const { application } = await rpc.call(applicationsRpc.get, { id });
        for (const className of CLASS_NAMES) printClass(application, className);
      }),
    );
}

function set(withServer: WithServer): Command {
  return new Command('set')
    .argument('<app-id>')
    .argument('<class>', CLASS_NAMES.join(', '))
    .argument('<operations>', `${CLASS_OPERATIONS.join(', ')}: one, several joined by commas, or all`)
    .argument(
      '<who...>',
      'everyone; users (whoever is logged in); nobody; or user ids and role:<name>, with spaces between',
    )
    .description('change who may do it; it works everywhere within a second. The master key may do everything.')
    .action((id: string, className: ClassName, operations: string, who: string[]) =>
      withServer(async (rpc) => {
        const change = { className, operations: operationsOf(operations), permission: permissionOf(who) };
        const { application } = await rpc.call(applicationsRpc.changePermission, { id, ...change });
        printClass(application, className);
      }),
    );
}

/** What is none, the server refuses. */
function operationsOf(text: string): ClassOperation[] {
  return text === 'all' ? [...CLASS_OPERATIONS] : (text.split(',') as ClassOperation[]);
}

function permissionOf(who: readonly string[]): ClassPermission {
  const [first] = who;
  if (who.length === 1 && (first === 'everyone' || first === 'users')) return first;
  return who.length === 1 && first === 'nobody' ? [] : [...who];
}

function printClass({ classPermissions }: Application, className: ClassName): void {
  print(className);
  for (const operation of CLASS_OPERATIONS)
    print(`  ${operation.padEnd(8)}${textOf(classPermissions[className][operation])}`);
}

function textOf(permission: ClassPermission): string {
  if (typeof permission === 'string') return permission;
  return permission.length === 0 ? 'nobody' : permission.join(' ');
}
