import { randomBytes } from 'node:crypto';
import { Command, InvalidArgumentError } from 'commander';
import { Clock, quoted, StartError } from '#bootstrap';
import { type JsonObject, pushOperationsRpc, type RpcReply } from '#contracts';
import { isAppError } from '#errors';
import type { RpcClient } from '#messaging';
import { dateOf } from '#objects';
import { assertApplication, type WithServer } from '../operator-connection.js';
import { print, sourceOf, valueFrom } from '../terminal.js';

type Status = RpcReply<typeof pushOperationsRpc.getStatus>;

interface SendOptions {
  readonly alert?: string;
  readonly data?: JsonObject;
  readonly device?: string;
  readonly channel?: readonly string[];
  readonly where?: JsonObject;
  readonly all?: true;
  readonly at?: string;
  readonly expiresIn?: number;
  readonly pace?: number;
  readonly reqId?: string;
}

export function pushCommand(withServer: WithServer): Command {
  return new Command('push')
    .description('send a push, show the status of one, and count devices')
    .addCommand(send(withServer))
    .addCommand(status(withServer))
    .addCommand(devices(withServer));
}

function send(withServer: WithServer): Command {
  return new Command('send')
    .argument('<app-id>')
    .description('send a push, and print its id')
    .option('--alert <text>', 'text that devices show')
    .option('--data <json>', 'the whole message instead: JSON, @FILE, or - for standard input', jsonOf)
    .option('--device <installation-id>', 'to this device')
    .option('--channel <names...>', 'to devices that have one of these channels')
    .option('--where <json>', 'to devices that match these conditions: JSON, @FILE, or -', jsonOf)
    .option('--all', 'to all devices')
    .option('--at <time>', 'send later, such as at 2026-01-31T12:00:00Z or 2026-01-31T20:00:00+08:00', timeOf)
    .option('--expires-in <seconds>', 'lifetime of the push; one week by default', countOf)
    .option('--pace <devices>', 'devices per second, at least 1000', countOf)
    .option(
      '--req-id <id>',
      'request id, 1 to 16 letters and digits: a repetition with it within five minutes sends nothing',
    )
    .action((appId: string, options: SendOptions, command: Command) => {
      const mistake = mistakeIn(options);
      if (mistake !== undefined) command.error(`error: ${mistake}`);
      return withServer(async (rpc) => {
        print(await sentPush(rpc, appId, bodyOf(options), options.reqId ?? newRequestId()));
      });
    });
}

function newRequestId(): string {
  return randomBytes(8).toString('hex');
}

/** A lost reply leaves open whether the push was accepted; the server answers a repetition with the first answer. @throws StartError */
async function sentPush(rpc: RpcClient, appId: string, push: JsonObject, reqId: string): Promise<string> {
  const body = { ...push, req_id: reqId };
  const send = async () => (await rpc.call(pushOperationsRpc.send, { appId, body })).objectId;
  const onlyUnavailable = (error: unknown) => {
    if (!isAppError(error, 'SERVICE_UNAVAILABLE')) throw error;
  };
  const objectId = (await send().catch(onlyUnavailable)) ?? (await send().catch(onlyUnavailable));
  if (objectId !== undefined) return objectId;
  throw new StartError(
    `It is unknown whether the service accepted the push. Repeat the command within five minutes with --req-id ${reqId}: then no device gets it twice. See the log of the service for the reason.`,
  );
}

function status(withServer: WithServer): Command {
  return new Command('status')
    .argument('<app-id>')
    .argument('<push-id>')
    .description(
      'show the status of a push: for each platform the number of devices targeted, acknowledged, waiting, …',
    )
    .action((appId: string, objectId: string) =>
      withServer(async (rpc) => {
        for (const line of linesOf(await rpc.call(pushOperationsRpc.getStatus, { appId, objectId }))) print(line);
      }),
    );
}

function devices(withServer: WithServer): Command {
  return new Command('devices')
    .argument('<app-id>')
    .description('count the devices of an application: all installations, targets of a push to all, and connected now')
    .action((appId: string) =>
      withServer(async (rpc) => {
        await assertApplication(rpc, appId);
        const { platforms, connected } = await rpc.call(pushOperationsRpc.countDevices, { appId });
        if (Object.keys(platforms).length === 0) print('0 installations  0 targeted');
        for (const [platform, { installations, targeted }] of Object.entries(platforms))
          print(`${quoted(platform)}  ${installations} installations  ${targeted} targeted`);
        print(`${connected} connected`);
      }),
    );
}

/** A forgotten target must not send a push to all devices. */
function mistakeIn({ alert, data, device, channel, where, all }: SendOptions): string | undefined {
  if ((alert === undefined) === (data === undefined)) return 'use --alert or --data';
  if (device !== undefined && where !== undefined && 'installationId' in where)
    return 'use --device, or installationId in --where, not both';
  const hasTarget = [device, channel, where].some((part) => part !== undefined);
  return hasTarget === (all === true) ? 'name a target by --device, --channel and --where, or use --all' : undefined;
}

function bodyOf({ alert, data, device, channel, where, at, expiresIn, pace }: SendOptions): JsonObject {
  const conditions = { ...where, ...(device === undefined ? {} : { installationId: device }) };
  return {
    data: data ?? { alert: alert ?? '' },
    where: conditions,
    ...(channel === undefined ? {} : { channels: [...channel] }),
    ...(at === undefined ? {} : { push_time: at }),
    ...(expiresIn === undefined ? {} : { expiration_interval: expiresIn }),
    ...(pace === undefined ? {} : { flow_control: pace }),
  };
}

function linesOf({ objectId, status: reached, error, platforms, vendors, ...times }: Status): string[] {
  return [
    `Id            ${objectId}`,
    `Status        ${reached}`,
    ...(error === null ? [] : [`Error         ${quoted(error)}`]),
    `Accepted      ${times.createdAt}`,
    ...(reached === 'scheduled' ? [`Due           ${times.dueAt}`] : []),
    `Expires       ${times.expiresAt}`,
    ...Object.entries(platforms).map(([platform, counts]) => {
      const parts = Object.entries(counts).map(([name, count]) => `${name} ${count}`);
      return `${quoted(platform)}  ${parts.join('  ')}`;
    }),
    ...Object.entries(vendors).map(([vendor, { reasons, ...counts }]) => {
      const parts = [...Object.entries(counts), ...Object.entries(reasons)].map(([name, count]) => `${name} ${count}`);
      return `${vendor}  ${parts.join('  ')}`;
    }),
  ];
}

function jsonOf(argument: string): JsonObject {
  const source = sourceOf(argument);
  const text = source === undefined ? argument : valueFrom('The value', source);
  const value = parse(text);
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as JsonObject;
  throw new InvalidArgumentError('Expected a JSON object.');
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A mistaken time must not send the push at once. Without a zone it would count as UTC. */
function timeOf(text: string): string {
  const time = /(?:Z|[+-]\d\d:?\d\d)$/.test(text) ? dateOf(text) : undefined;
  if (time === undefined)
    throw new InvalidArgumentError('Expected a time with its zone, such as 2026-01-31T12:00:00Z.');
  if (time > new Clock().now()) return text;
  throw new InvalidArgumentError('It is past. Choose a later time, or leave out --at to send the push at once.');
}

function countOf(text: string): number {
  if (/^[1-9]\d{0,9}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Expected a whole number from 1 on.');
}
