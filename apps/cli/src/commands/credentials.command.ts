import { Argument, Command, Option } from 'commander';
import { StartError } from '#bootstrap';
import {
  applicationsRpc,
  type CredentialField,
  credentialFieldsOf,
  PLATFORM_KINDS,
  platformFields,
  type PlatformKind,
  platformsRpc,
  type ShownCredentials,
  type ShownTextMessageProvider,
  TEXT_MESSAGE_PROVIDER_KINDS,
  TEXT_MESSAGE_PROVIDERS,
  type TextMessageProviderKind,
  textMessageProvidersRpc,
} from '#contracts';
import type { WithServer } from '../operator-connection.js';
import { print, type ReadSource, sourceOf, valueFrom, withoutLastBreak } from '../terminal.js';

const MIN_COLUMN_WIDTH = 12;

export function platformsCommand(withServer: WithServer): Command {
  const platforms = new Command('platforms').description(
    'show and set the credentials that verify accounts of third-party platforms',
  );
  for (const command of [listPlatforms, setPlatform, removePlatform]) platforms.addCommand(command(withServer));
  return platforms;
}

function listPlatforms(withServer: WithServer): Command {
  return new Command('list')
    .argument('<app-id>')
    .description('list the platforms with credentials; secrets are never shown')
    .action((appId: string) =>
      withServer(async (rpc) => {
        const { platforms } = await rpc.call(platformsRpc.list, { appId });
        for (const credentials of platforms) printPlatform(credentials);
        if (platforms.length > 0) return;
        const { application } = await rpc.call(applicationsRpc.get, { id: appId });
        print(
          `${application.name} has no credentials of platforms. Set some: npm run gatepost -- platforms set --help`,
        );
      }),
    );
}

function setPlatform(withServer: WithServer): Command {
  return new Command('set')
    .argument('<app-id>')
    .argument('<platform>', 'the key in authData')
    .argument('<field=value...>', 'field=value; a secret as field=@path/to/file, or field=- for standard input')
    .addOption(
      new Option('--kind <kind>', 'platform of the accounts, if the key is a name of your own').choices(PLATFORM_KINDS),
    )
    .description(
      'set the credentials of a platform, replacing all earlier ones; they take effect everywhere within a second',
    )
    .addHelpText('after', `\nKinds and their fields:\n${describeKinds(PLATFORM_KINDS.map(platformCredentials))}`)
    .action((appId: string, platform: string, args: string[], options: { kind?: PlatformKind }) => {
      const kind = options.kind ?? kindNamed(platform);
      const fields = credentialFields(platformCredentials(kind), args);
      return withServer(async (rpc) => {
        const { credentials } = await rpc.call(platformsRpc.set, { appId, platform, kind, fields });
        printPlatform(credentials);
      });
    });
}

function removePlatform(withServer: WithServer): Command {
  return new Command('remove')
    .argument('<app-id>')
    .argument('<platform>', 'the key in authData')
    .description('remove the credentials of a platform; its accounts are then no longer verified')
    .action((appId: string, platform: string) =>
      withServer(async (rpc) => {
        await rpc.call(platformsRpc.remove, { appId, platform });
        print(`The credentials of ${platform} are removed.`);
      }),
    );
}

function kindNamed(platform: string): PlatformKind {
  const kind = PLATFORM_KINDS.find((known) => known === platform);
  if (kind === undefined)
    throw new StartError(`Name the platform of these accounts with --kind: ${PLATFORM_KINDS.join(', ')}.`);
  return kind;
}

function printPlatform({ platform, kind, shown, secrets }: ShownCredentials): void {
  print(platform === kind ? platform : `${platform} (${kind})`);
  for (const line of shownFields(shown, secrets)) print(line);
}

function platformCredentials(kind: PlatformKind): CredentialKind {
  return { name: kind, fields: platformFields(kind) };
}

export function textMessagesCommand(withServer: WithServer): Command {
  const textMessages = new Command('text-messages').description(
    'show and set the text-message provider of an application',
  );
  for (const command of [showProvider, setProvider, removeProvider]) textMessages.addCommand(command(withServer));
  return textMessages;
}

function showProvider(withServer: WithServer): Command {
  return new Command('show')
    .argument('<app-id>')
    .description('show the provider; secrets are never shown')
    .action((appId: string) =>
      withServer(async (rpc) => {
        const { application } = await rpc.call(applicationsRpc.get, { id: appId });
        const { provider } = await rpc.call(textMessageProvidersRpc.get, { appId });
        if (provider !== null) printProvider(provider);
        else
          print(
            `The text messages of ${application.name} become files. Set a provider: npm run gatepost -- text-messages set --help`,
          );
      }),
    );
}

function setProvider(withServer: WithServer): Command {
  return new Command('set')
    .argument('<app-id>')
    .addArgument(new Argument('<provider>').choices(TEXT_MESSAGE_PROVIDER_KINDS))
    .argument('<field=value...>', 'field=value; a secret as field=@path/to/file, or field=- for standard input')
    .description('set the provider, replacing an earlier one; it takes effect within a second')
    .addHelpText(
      'after',
      `\nProviders and their fields:\n${describeKinds(TEXT_MESSAGE_PROVIDER_KINDS.map(providerCredentials))}`,
    )
    .action((appId: string, kind: TextMessageProviderKind, args: string[]) => {
      const fields = credentialFields(providerCredentials(kind), args);
      return withServer(async (rpc) => {
        await rpc.call(applicationsRpc.get, { id: appId });
        printProvider((await rpc.call(textMessageProvidersRpc.set, { appId, kind, fields })).provider);
      });
    });
}

function removeProvider(withServer: WithServer): Command {
  return new Command('remove')
    .argument('<app-id>')
    .description('remove the provider; messages then become files')
    .action((appId: string) =>
      withServer(async (rpc) => {
        await rpc.call(textMessageProvidersRpc.remove, { appId });
        print('Text messages become files from now on.');
      }),
    );
}

function providerCredentials(kind: TextMessageProviderKind): CredentialKind {
  return { name: kind, fields: credentialFieldsOf(TEXT_MESSAGE_PROVIDERS[kind]) };
}

function printProvider({ kind, shown, secrets }: ShownTextMessageProvider): void {
  print(kind);
  for (const line of shownFields(shown, secrets)) print(line);
}

interface CredentialKind {
  readonly name: string;
  readonly fields: readonly CredentialField[];
}

/** Reads `field=value`, `field=@path` and `field=-`. No message repeats an argument, which may be a misplaced secret. @throws StartError */
export function credentialFields(
  kind: CredentialKind,
  args: readonly string[],
  read?: ReadSource,
): Record<string, string> {
  const known = new Map(kind.fields.map((field) => [field.name, field]));
  const fields = new Map<string, string>();
  for (const [index, argument] of args.entries()) {
    const [name = '', value = ''] = argument.split(/=(.*)/s, 2);
    const field = known.get(name);
    if (field === undefined || !argument.includes('=')) throw new StartError(notAField(kind, index));
    if (fields.has(name)) throw new StartError(`${name} is given twice.`);
    const source = sourceOf(value);
    if (source === undefined && field.isSecret) throw new StartError(plainSecret(name));
    fields.set(name, source === undefined ? value : withoutLastBreak(valueFrom(name, source, read)));
  }
  return Object.fromEntries(fields);
}

export function usageOf(fields: readonly CredentialField[]): string {
  return fields
    .map(({ name, isSecret, isRequired }) => {
      const usage = isSecret ? `${name}=@FILE` : `${name}=VALUE`;
      return isRequired ? usage : `[${usage}]`;
    })
    .join(' ');
}

/** Reads a secret from `@path` or `-`. @throws StartError where it is given as a plain argument, or the source is empty */
export function secretFrom(name: string, argument: string, read?: ReadSource): string {
  const source = sourceOf(argument);
  if (source === undefined) throw new StartError(plainSecret(name, ' '));
  const secret = withoutLastBreak(valueFrom(name, source, read));
  if (secret === '')
    throw new StartError(`${name}: the given file or input is empty. An empty argument ('') removes it.`);
  return secret;
}

function notAField(kind: CredentialKind, index: number): string {
  return `Field ${index + 1} is not a field of ${kind.name}. Its fields: ${usageOf(kind.fields)}`;
}

function plainSecret(name: string, joint = '='): string {
  return `${name} is a secret, and all users of this machine can read arguments. Put it into a file and write ${name}${joint}@path/to/file, or write ${name}${joint}- and pass it on standard input.`;
}

export function describeKinds(kinds: readonly CredentialKind[]): string {
  const kindWidth = widthFor(kinds.map(({ name }) => name));
  const nameWidth = widthFor(kinds.flatMap(({ fields }) => fields.map(({ name }) => name)));
  return kinds
    .flatMap(({ name: kind, fields }) =>
      fields.map(({ name, isSecret, isRequired, description }, index) => {
        const marks = [isSecret ? 'secret' : '', isRequired ? '' : 'optional'].filter((mark) => mark !== '').join(', ');
        const words = [marks === '' ? '' : `(${marks})`, description ?? ''].filter((word) => word !== '').join(' ');
        return `  ${(index === 0 ? kind : '').padEnd(kindWidth)}${name.padEnd(nameWidth)}${words}`.trimEnd();
      }),
    )
    .join('\n');
}

/** One field per line, without the values of secrets. */
export function shownFields(shown: Readonly<Record<string, string>>, secrets: readonly string[]): string[] {
  const width = widthFor([...Object.keys(shown), ...secrets]);
  return [
    ...Object.entries(shown).map(([name, value]) => `  ${name.padEnd(width)}${value}`),
    ...secrets.map((name) => `  ${name.padEnd(width)}(secret)`),
  ];
}

function widthFor(names: readonly string[]): number {
  return Math.max(MIN_COLUMN_WIDTH, ...names.map((name) => name.length + 1));
}
