import { Command, Option } from 'commander';
import { StartError } from '#bootstrap';
import {
  applicationsRpc,
  PLATFORM_KINDS,
  platformFields,
  type PlatformKind,
  platformsRpc,
  type ShownCredentials,
} from '#contracts';
import type { WithServer } from '../operator-connection.js';
import { print } from '../terminal.js';
import { credentialFields, type CredentialKind, describeKinds, shownFields } from './credential-fields.js';

/** `gatepost platforms …` */
export function platformsCommand(withServer: WithServer): Command {
  const platforms = new Command('platforms').description(
    'show and set what an application needs to have accounts of third-party platforms verified',
  );
  for (const command of [list, set, remove]) platforms.addCommand(command(withServer));
  return platforms;
}

function list(withServer: WithServer): Command {
  return new Command('list')
    .argument('<app-id>')
    .description('list the platforms with credentials; secrets are never shown')
    .action((appId: string) =>
      withServer(async (rpc) => {
        const { platforms } = await rpc.call(platformsRpc.list, { appId });
        for (const credentials of platforms) printCredentials(credentials);
        if (platforms.length > 0) return;
        const { application } = await rpc.call(applicationsRpc.get, { id: appId });
        print(
          `${application.name} has no credentials of platforms. Set some: npm run gatepost -- platforms set --help`,
        );
      }),
    );
}

function set(withServer: WithServer): Command {
  return new Command('set')
    .argument('<app-id>')
    .argument('<platform>', 'the key in authData')
    .argument('<field=value...>', 'field=value; a secret as field=@path/to/file, or field=- for standard input')
    .addOption(
      new Option('--kind <kind>', 'whose accounts they are, where the key is a name of your own').choices(
        PLATFORM_KINDS,
      ),
    )
    .description(
      'set the credentials of a platform, in place of all that were set; they work everywhere within a second',
    )
    .addHelpText('after', `\nKinds and their fields:\n${describeKinds(PLATFORM_KINDS.map(credentialKind))}`)
    .action((appId: string, platform: string, args: string[], options: { kind?: PlatformKind }) => {
      const kind = options.kind ?? kindNamed(platform);
      const fields = credentialFields(credentialKind(kind), args);
      return withServer(async (rpc) => {
        const { credentials } = await rpc.call(platformsRpc.set, { appId, platform, kind, fields });
        printCredentials(credentials);
      });
    });
}

function remove(withServer: WithServer): Command {
  return new Command('remove')
    .argument('<app-id>')
    .argument('<platform>', 'the key in authData')
    .description('remove the credentials of a platform; its accounts are then no longer verified')
    .action((appId: string, platform: string) =>
      withServer(async (rpc) => {
        await rpc.call(platformsRpc.remove, { appId, platform });
        print(`${platform} has no credentials any more.`);
      }),
    );
}

function kindNamed(platform: string): PlatformKind {
  const kind = PLATFORM_KINDS.find((known) => known === platform);
  if (kind === undefined)
    throw new StartError(`Say with --kind whose accounts these are: ${PLATFORM_KINDS.join(', ')}.`);
  return kind;
}

function printCredentials({ platform, kind, shown, secrets }: ShownCredentials): void {
  print(platform === kind ? platform : `${platform} (${kind})`);
  for (const line of shownFields(shown, secrets)) print(line);
}

function credentialKind(kind: PlatformKind): CredentialKind {
  return { name: kind, fields: platformFields(kind) };
}
