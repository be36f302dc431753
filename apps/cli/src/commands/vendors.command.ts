import { Argument, Command, Option } from 'commander';
import { StartError } from '#bootstrap';
import {
  applicationsRpc,
  DEFAULT_PROFILE,
  type ShownVendor,
  type Vendor,
  vendorFields,
  type VendorLaneState,
  VENDORS,
  vendorsRpc,
} from '#contracts';
import type { RpcClient } from '#messaging';
import type { WithServer } from '../operator-connection.js';
import { print, sourceOf, valueFrom, withoutLastBreak } from '../terminal.js';
import { credentialFields, describeKinds, shownFields } from './credentials.command.js';

interface KeyOptions {
  readonly profile: string;
  readonly team?: string;
}

export function vendorsCommand(withServer: WithServer): Command {
  const vendors = new Command('vendors').description(
    'show, set and check the credentials that reach devices through push services of vendors',
  );
  for (const command of [listVendors, setVendor, checkVendors, tryVendor, removeVendor])
    vendors.addCommand(command(withServer));
  for (const change of CHANGES) vendors.addCommand(changeLanes(withServer, change));
  return vendors;
}

const vendorArgument = () => new Argument('<vendor>').choices(VENDORS);
const profileOption = () =>
  new Option('--profile <name>', 'the deviceProfile of the installations that use the credentials').default(
    DEFAULT_PROFILE,
    'none',
  );
const teamOption = () => new Option('--team <id>', 'the team of APNs, where the application has several');

function listVendors(withServer: WithServer): Command {
  return new Command('list')
    .argument('<app-id>')
    .description('list the vendors with credentials, and what holds their pushes; secrets are never shown')
    .action((appId: string) =>
      withServer(async (rpc) => {
        const { vendors } = await rpc.call(vendorsRpc.list, { appId });
        const { lanes, senders } = await rpc.call(vendorsRpc.listLanes, { appId });
        for (const credentials of vendors) {
          printVendor(credentials);
          for (const line of stateLines(credentials, lanes)) print(line);
        }
        if (senders === 0 && lanes.some(({ devices }) => devices > 0))
          print('Devices wait, and no process with the role sender runs.');
        if (vendors.length > 0) return;
        const { application } = await rpc.call(applicationsRpc.get, { id: appId });
        print(`${application.name} has no credentials of vendors. Set some: npm run gatepost -- vendors set --help`);
      }),
    );
}

function setVendor(withServer: WithServer): Command {
  return new Command('set')
    .argument('<app-id>')
    .addArgument(vendorArgument())
    .argument('<field=value...>', 'field=value; a secret as field=@path/to/file, or field=- for standard input')
    .addOption(profileOption())
    .option('--unchecked', 'do not sign in at the vendor before')
    .description('set the credentials of a vendor, replacing earlier ones; they take effect within a second')
    .addHelpText('after', `\nVendors and their fields:\n${describeKinds(VENDORS.map(kindOf))}`)
    .action((appId: string, vendor: Vendor, args: string[], { profile, unchecked = false }: SetOptions) => {
      const fields = credentialFields(kindOf(vendor), args);
      return withServer(async (rpc) => {
        const wanted = { appId, vendor, profile, fields, isUnchecked: unchecked };
        const { credentials, problem } = await rpc.call(vendorsRpc.set, wanted);
        printVendor(credentials);
        if (typeof problem === 'string') print(problem);
        if (unchecked || typeof problem === 'string')
          print(`They are set, but not checked: npm run gatepost -- vendors check ${appId}`);
        else print('They are checked and set.');
      });
    });
}

function checkVendors(withServer: WithServer): Command {
  return new Command('check')
    .argument('<app-id>')
    .addArgument(new Argument('[vendor]').choices(VENDORS))
    .description('sign in at the vendors, without a push to a device; ends with status 1 if one refuses')
    .action((appId: string, vendor: Vendor | undefined) =>
      withServer(async (rpc) => {
        const { vendors } = await rpc.call(vendorsRpc.list, { appId });
        const wanted = vendors.filter((one) => vendor === undefined || one.vendor === vendor);
        if (wanted.length === 0)
          throw new StartError(`The application has no such credentials: npm run gatepost -- vendors list ${appId}`);
        const problems: string[] = [];
        for (const one of wanted) {
          const { problem } = await rpc.call(vendorsRpc.check, { appId, ...keyOf(one) });
          print(`${nameOf(one)}: ${problem ?? 'ok'}`);
          if (problem !== null) problems.push(nameOf(one));
        }
        if (problems.length > 0) throw new StartError(`These credentials do not work: ${problems.join(', ')}.`);
      }),
    );
}

function tryVendor(withServer: WithServer): Command {
  return new Command('try')
    .argument('<app-id>')
    .addArgument(vendorArgument())
    .requiredOption('--token <token>', 'the token of the device: @FILE, - for standard input, or the token')
    .option('--topic <bundle-id>', 'the app on Apple devices, where the team has several')
    .option('--alert <text>', 'text that the device shows', 'Gatepost can reach this device.')
    .option('--dev', "Apple's environment for development")
    .addOption(profileOption())
    .addOption(teamOption())
    .description('send one message to one device of a vendor, without an installation')
    .action((appId: string, vendor: Vendor, options: KeyOptions & TryOptions) =>
      withServer(async (rpc) => {
        const key = await keyFor(rpc, appId, vendor, options);
        const { outcome, reason } = await rpc.call(vendorsRpc.try, {
          appId,
          ...key,
          token: tokenFrom(options.token),
          alert: options.alert,
          ...(options.topic === undefined ? {} : { topic: options.topic }),
          prod: options.dev === true ? 'dev' : 'prod',
        });
        if (outcome !== 'accepted') throw new StartError(`The message was not accepted (${outcome}): ${reason ?? ''}.`);
        print('The vendor has accepted the message. The device shows it within seconds.');
      }),
    );
}

interface SetOptions extends KeyOptions {
  readonly unchecked?: boolean;
}

const CHANGES = [
  {
    name: 'pause',
    description: 'send nothing more with the credentials of a vendor; pushes wait until they expire',
    done: 'Pushes wait until vendors resume, or until they expire.',
  },
  { name: 'resume', description: 'end a pause: pushes that wait are sent at once', done: 'Pushes are sent.' },
  {
    name: 'trust',
    description:
      'the credentials are those of the app: for an hour, tokens that the vendor calls invalid count as dead',
    done: 'For an hour, the next pushes make devices invalid whose tokens the vendor calls invalid.',
  },
] as const;

function changeLanes(withServer: WithServer, { name, description, done }: (typeof CHANGES)[number]): Command {
  return new Command(name)
    .argument('<app-id>')
    .addArgument(vendorArgument())
    .addOption(profileOption())
    .addOption(teamOption())
    .description(description)
    .action((appId: string, vendor: Vendor, options: KeyOptions) =>
      withServer(async (rpc) => {
        const key = await keyFor(rpc, appId, vendor, options);
        await rpc.call(vendorsRpc.change, { appId, ...key, change: name });
        print(`${nameOf(key)}: ${done}`);
      }),
    );
}

function stateLines({ vendor, profile, part }: ShownVendor, lanes: readonly VendorLaneState[]): string[] {
  const own = lanes.filter(({ lane }) => lane.startsWith(`${[vendor, profile, part].join('/')}/`));
  const devices = own.reduce((sum, lane) => sum + lane.devices, 0);
  return [
    ...(own.some(({ isPaused }) => isPaused) ? ['  paused: vendors resume lets it go on'] : []),
    ...(own.some(({ isDoubted }) => isDoubted)
      ? ['  in doubt: the vendor calls many tokens invalid; correct the credentials, or vendors trust']
      : []),
    ...(own.some(({ isTrusted }) => isTrusted) ? ['  trusted for the rest of an hour'] : []),
    ...(devices > 0 ? [`  waiting: ${devices} devices`] : []),
  ];
}

interface TryOptions {
  readonly token: string;
  readonly topic?: string;
  readonly alert: string;
  readonly dev?: true;
}

function removeVendor(withServer: WithServer): Command {
  return new Command('remove')
    .argument('<app-id>')
    .addArgument(vendorArgument())
    .addOption(profileOption())
    .addOption(teamOption())
    .description('remove the credentials of a vendor; its devices then use their own queues, where they have one')
    .action((appId: string, vendor: Vendor, options: KeyOptions) =>
      withServer(async (rpc) => {
        const key = await keyFor(rpc, appId, vendor, options);
        await rpc.call(vendorsRpc.remove, { appId, ...key });
        print(`The credentials of ${nameOf(key)} are removed.`);
      }),
    );
}

/** The team may be left out where only one exists. @throws StartError */
async function keyFor(rpc: RpcClient, appId: string, vendor: Vendor, { profile, team }: KeyOptions): Promise<Key> {
  const { vendors } = await rpc.call(vendorsRpc.list, { appId });
  const found = vendors.filter((one) => one.vendor === vendor && one.profile === profile);
  const [only] = team === undefined ? found : found.filter(({ part }) => part === team);
  if (only === undefined)
    throw new StartError(
      `The application has no such credentials of ${vendor}: npm run gatepost -- vendors list ${appId}`,
    );
  if (team === undefined && found.length > 1)
    throw new StartError(`Name one of the teams with --team: ${found.map(({ part }) => part).join(', ')}.`);
  return keyOf(only);
}

function tokenFrom(argument: string): string {
  const source = sourceOf(argument);
  return source === undefined ? argument : withoutLastBreak(valueFrom('--token', source));
}

type Key = Pick<ShownVendor, 'vendor' | 'profile' | 'part'>;

function keyOf({ vendor, profile, part }: ShownVendor): Key {
  return { vendor, profile, part };
}

function nameOf({ vendor, profile, part }: Key): string {
  return [vendor, profile === DEFAULT_PROFILE ? '' : profile, part].filter((word) => word !== '').join(' ');
}

function kindOf(vendor: Vendor) {
  return { name: vendor, fields: vendorFields(vendor) };
}

function printVendor(credentials: ShownVendor): void {
  print(nameOf(credentials));
  for (const line of shownFields(credentials.shown, credentials.secrets)) print(line);
}
