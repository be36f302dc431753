import { Command, InvalidArgumentError } from 'commander';
import { environment, loadConfig, StartError } from '#bootstrap';
import {
  type Application,
  applicationSettings,
  applicationsRpc,
  CLASS_NAMES,
  CLASS_OPERATIONS,
  SECRET_SETTING_NAMES,
  secretSettings,
  type ClassName,
  type ClassOperation,
  type ClassPermission,
  SETTING_NAMES,
} from '#contracts';
import type { WithServer } from '../operator-connection.js';
import { print } from '../terminal.js';
import { secretFrom } from './credentials.command.js';

const UNTIL_REVOKED = 'until-revoked';
const SECONDS: Readonly<Record<string, number>> = { m: 60, h: 3_600, d: 86_400 };

const keysEnvironment = environment.pick({ GATEPOST_APP_KEY: true, GATEPOST_MASTER_KEY: true });

/** Keys for a new application, from the environment: every user of the machine can read arguments. */
export interface GivenKeys {
  readonly appKey: string | undefined;
  readonly masterKey: string | undefined;
}

interface OnlyKeys {
  readonly appKey?: true;
  readonly masterKey?: true;
}

export function appsCommand(withServer: WithServer, givenKeys: () => GivenKeys): Command {
  const apps = new Command('apps').description('create, show and change applications');
  apps.addCommand(create(withServer, givenKeys));
  for (const command of [list, show, set, rotateKeys, revokeOldKeys]) apps.addCommand(command(withServer));
  return apps;
}

function create(withServer: WithServer, givenKeys: () => GivenKeys): Command {
  return new Command('create')
    .argument('<name>', 'display name')
    .option('--id <id>', 'its id, such as that of an app already shipped (random by default)')
    .description('create an application and print its keys')
    .option('--given-keys', 'use the keys in GATEPOST_APP_KEY and GATEPOST_MASTER_KEY (random by default)')
    .action((name: string, { id, givenKeys: isGiven }: { id?: string; givenKeys?: true }) => {
      const keys = isGiven === true ? assertGiven(givenKeys()) : {};
      return withServer(async (rpc) => {
        printKeys((await rpc.call(applicationsRpc.create, { name, id, ...keys })).application);
      });
    });
}

/** Random keys would lock out the shipped apps, and the id would be taken. @throws StartError */
function assertGiven(keys: GivenKeys): GivenKeys {
  if (keys.appKey !== undefined || keys.masterKey !== undefined) return keys;
  throw new StartError(
    '--given-keys: neither GATEPOST_APP_KEY nor GATEPOST_MASTER_KEY is in the environment. Set and export them.',
  );
}

function list(withServer: WithServer): Command {
  return new Command('list').description('list all applications with their keys').action(() =>
    withServer(async (rpc) => {
      const { applications } = await rpc.call(applicationsRpc.list, {});
      if (applications.length === 0)
        print('There is no application yet. Create one: npm run gatepost -- apps create NAME');
      for (const application of applications) printKeys(application);
    }),
  );
}

function show(withServer: WithServer): Command {
  return new Command('show')
    .argument('<app-id>')
    .description('show an application, its keys and its settings')
    .action((id: string) =>
      withServer(async (rpc) => {
        const { application } = await rpc.call(applicationsRpc.get, { id });
        printKeys(application);
        for (const name of SETTING_NAMES) print(settingLine(name, JSON.stringify(application.settings[name])));
        for (const name of application.secretsSet) print(settingLine(name, '(secret)'));
      }),
    );
}

function set(withServer: WithServer): Command {
  return new Command('set')
    .argument('<app-id>')
    .argument('<name>', 'the setting')
    .argument('<value>', 'its new value; a secret as @path/to/file, or - for standard input')
    .description('change a setting; it takes effect everywhere within a second')
    .addHelpText('after', `\nSettings:\n${describeSettings()}`)
    .action((id: string, name: string, text: string) => {
      const isSecret = SECRET_SETTING_NAMES.some((secret) => secret === name);
      const value = isSecret && text !== '' ? secretFrom(name, text) : text;
      return withServer(async (rpc) => {
        await rpc.call(applicationsRpc.changeSetting, { id, name, value });
        if (isSecret) print(`${name} is ${value === '' ? 'removed' : 'set'}.`);
        else print(`${name} is ${value}.`);
      });
    });
}

function rotateKeys(withServer: WithServer): Command {
  return new Command('rotate-keys')
    .argument('<app-id>')
    .option('--app-key', 'only the application key')
    .option('--master-key', 'only the master key')
    .option('--keep-old <time>', 'keep the old keys valid for this time: 30m, 12h, 90d, or until-revoked', secondsOf)
    .description('create new keys; the old ones stop working within a second, unless they are kept')
    .action((id: string, { keepOld, ...only }: { keepOld?: number | typeof UNTIL_REVOKED } & OnlyKeys) =>
      withServer(async (rpc) => {
        const kept = keepOld === undefined ? {} : { keepOldSeconds: keepOld === UNTIL_REVOKED ? null : keepOld };
        printKeys((await rpc.call(applicationsRpc.rotateKeys, { id, ...whichOf(only), ...kept })).application);
      }),
    );
}

function revokeOldKeys(withServer: WithServer): Command {
  return new Command('revoke-old-keys')
    .argument('<app-id>')
    .option('--app-key', 'only old application keys')
    .option('--master-key', 'only old master keys')
    .description('revoke the old keys that rotate-keys --keep-old has kept; they stop working within a second')
    .action((id: string, only: OnlyKeys) =>
      withServer(async (rpc) => {
        printKeys((await rpc.call(applicationsRpc.revokeOldKeys, { id, ...whichOf(only) })).application);
      }),
    );
}

function whichOf(only: OnlyKeys): { appKey: boolean; masterKey: boolean } {
  const isBoth = only.appKey === only.masterKey;
  return { appKey: isBoth || only.appKey === true, masterKey: isBoth || only.masterKey === true };
}

/** A time such as 90d. Commander turns a null into ''. @throws InvalidArgumentError */
function secondsOf(text: string): number | typeof UNTIL_REVOKED {
  if (text === UNTIL_REVOKED) return text;
  const [, count, unit = ''] = /^([1-9]\d{0,5})([mhd])$/.exec(text) ?? [];
  if (count === undefined) throw new InvalidArgumentError('Expected 30m, 12h, 90d or until-revoked.');
  return Number(count) * (SECONDS[unit] ?? 0);
}

function printKeys({ id, name, appKey, masterKey, oldKeys }: Application): void {
  print(`${name}\n  id          ${id}\n  key         ${appKey}\n  master key  ${masterKey}`);
  for (const { kind, key, acceptedUntil } of oldKeys)
    print(`  old ${kind === 'app' ? 'key' : 'master key'}  ${key}  (valid until ${acceptedUntil ?? 'it is revoked'})`);
}

function describeSettings(): string {
  const { shape } = applicationSettings;
  const lines = SETTING_NAMES.map((name) => settingLine(name, shape[name].description ?? ''));
  const secrets = SECRET_SETTING_NAMES.map((name) => settingLine(name, secretSettings.shape[name].description ?? ''));
  return [...lines, ...secrets].join('\n');
}

function settingLine(name: string, text: string): string {
  return `  ${name.padEnd(28)} ${text}`;
}

export function permissionsCommand(withServer: WithServer): Command {
  return new Command('permissions')
    .description('show and change the class permissions of an application')
    .addCommand(showPermissions(withServer))
    .addCommand(setPermission(withServer));
}

function showPermissions(withServer: WithServer): Command {
  return new Command('show')
    .argument('<app-id>')
    .description('show the permissions of each class')
    .action((id: string) =>
      withServer(async (rpc) => {
        const { application } = await rpc.call(applicationsRpc.get, { id });
        for (const className of CLASS_NAMES) printClass(application, className);
      }),
    );
}

function setPermission(withServer: WithServer): Command {
  return new Command('set')
    .argument('<app-id>')
    .argument('<class>', CLASS_NAMES.join(', '))
    .argument('<operations>', `${CLASS_OPERATIONS.join(', ')}: one, several separated by commas, or all`)
    .argument(
      '<who...>',
      'everyone; users (all logged-in users); nobody; or user ids and role:<name>, separated by spaces',
    )
    .description('change the permission; it takes effect everywhere within a second. The master key may do everything.')
    .action((id: string, className: ClassName, operations: string, who: string[]) => {
      const change = { className, operations: operationsOf(operations), permission: permissionOf(who) };
      return withServer(async (rpc) => {
        const { application } = await rpc.call(applicationsRpc.changePermission, { id, ...change });
        printClass(application, className);
      });
    });
}

const WORDS: ReadonlyMap<string, ClassPermission> = new Map<string, ClassPermission>([
  ['everyone', 'everyone'],
  ['users', 'users'],
  ['nobody', []],
]);

function operationsOf(text: string): ClassOperation[] {
  return text === 'all' ? [...CLASS_OPERATIONS] : (text.split(',') as ClassOperation[]);
}

/** @throws StartError for a word beside ids, which would become an id */
function permissionOf(who: readonly string[]): ClassPermission {
  const word = who.find((one) => WORDS.has(one));
  if (word === undefined) return [...who];
  if (who.length > 1) throw new StartError(`"${word}" stands alone. Name it, or user ids and role:<name>.`);
  return WORDS.get(word) ?? [];
}

function printClass({ classPermissions }: Application, className: ClassName): void {
  print(className);
  for (const operation of CLASS_OPERATIONS)
    print(`  ${operation.padEnd(8)}${permissionText(classPermissions[className][operation])}`);
}

/** In the words that `permissions set` takes. */
export function permissionText(permission: ClassPermission): string {
  if (typeof permission === 'string') return permission;
  return permission.length === 0 ? 'nobody' : permission.join(' ');
}

export function givenKeysIn(variables: NodeJS.ProcessEnv): GivenKeys {
  const env = loadConfig(keysEnvironment, variables);
  return { appKey: env.GATEPOST_APP_KEY?.reveal(), masterKey: env.GATEPOST_MASTER_KEY?.reveal() };
}
