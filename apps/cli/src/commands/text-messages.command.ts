import { Argument, Command } from 'commander';
import {
  applicationsRpc,
  credentialFieldsOf,
  type ShownTextMessageProvider,
  TEXT_MESSAGE_PROVIDER_KINDS,
  TEXT_MESSAGE_PROVIDERS,
  type TextMessageProviderKind,
  textMessageProvidersRpc,
} from '#contracts';
import type { WithServer } from '../operator-connection.js';
import { print } from '../terminal.js';
import { credentialFields, type CredentialKind, describeKinds, shownFields } from './credential-fields.js';

/** `gatepost text-messages …` */
export function textMessagesCommand(withServer: WithServer): Command {
  const textMessages = new Command('text-messages').description(
    'show and set who carries the text messages of an application',
  );
  for (const command of [show, set, remove]) textMessages.addCommand(command(withServer));
  return textMessages;
}

function show(withServer: WithServer): Command {
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

function set(withServer: WithServer): Command {
  return new Command('set')
    .argument('<app-id>')
    .addArgument(new Argument('<provider>').choices(TEXT_MESSAGE_PROVIDER_KINDS))
    .argument('<field=value...>', 'field=value; a secret as field=@path/to/file, or field=- for standard input')
    .description('set the provider, in place of the one that was set; messages take it within a second')
    .addHelpText(
      'after',
      `\nProviders and their fields:\n${describeKinds(TEXT_MESSAGE_PROVIDER_KINDS.map(credentialKind))}`,
    )
    .action((appId: string, kind: TextMessageProviderKind, args: string[]) => {
      const fields = credentialFields(credentialKind(kind), args);
      return withServer(async (rpc) => {
        await rpc.call(applicationsRpc.get, { id: appId });
        printProvider((await rpc.call(textMessageProvidersRpc.set, { appId, kind, fields })).provider);
      });
    });
}

function remove(withServer: WithServer): Command {
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

function credentialKind(kind: TextMessageProviderKind): CredentialKind {
  return { name: kind, fields: credentialFieldsOf(TEXT_MESSAGE_PROVIDERS[kind]) };
}

function printProvider({ kind, shown, secrets }: ShownTextMessageProvider): void {
  print(kind);
  for (const line of shownFields(shown, secrets)) print(line);
}
