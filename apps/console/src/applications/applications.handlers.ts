import { Inject, Injectable } from '@nestjs/common';
import { Clock } from '#bootstrap';
import {
  type ApplicationDetails,
  CONNECTED_HOURS,
  consoleApi,
  type Overview,
  permissionsFor,
  PUSH_SERIES_DAYS,
  type Series,
  SERIES_DAYS,
} from '#console-api';
import {
  type Application,
  applicationSettings,
  applicationsRpc,
  type Caller,
  deliveriesRpc,
  identitiesRpc,
  pushOperationsRpc,
  pushRpc,
  type RpcReply,
  isConcealedSetting,
  SECRET_SETTING_NAMES,
  secretSettings,
  settingText,
  SETTING_NAMES,
  userSearchRpc,
} from '#contracts';
import { AppError } from '#errors';
import { RpcClient } from '#messaging';
import { Sealer } from '#security';
import { CONSOLE_CONFIG, type ConsoleConfig } from '../console.config.js';
import { toListedPush, NEWEST_FIRST } from '../pushes/push.rules.js';
import { Handles, ifUnchanged, type ReplyOf, type RequestOf, undoOf } from '../routing/console-handler.js';

type OneApplication = ReplyOf<'getApplication'>;

/** Digits of the master key's keyed hash that the page shows. */
const KEY_ID_DIGITS = 12;
const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const UNDER_WAY = 5;

/** No reply holds a master key. */
@Injectable()
export class ApplicationsHandlers {
  constructor(
    private readonly rpc: RpcClient,
    private readonly sealer: Sealer,
    private readonly clock: Clock,
    @Inject(CONSOLE_CONFIG) private readonly config: ConsoleConfig,
  ) {}

  @Handles(consoleApi.listApplications)
  async list({ operator }: RequestOf<'listApplications'>): Promise<ReplyOf<'listApplications'>> {
    const { applications } = await this.rpc.call(applicationsRpc.list, {});
    return { items: applications.filter(({ id }) => permissionsFor(operator, id).length > 0) };
  }

  @Handles(consoleApi.createApplication)
  async create(request: RequestOf<'createApplication'>): Promise<OneApplication> {
    const { application } = await this.rpc.call(applicationsRpc.create, request.body);
    request.act = { target: application.id };
    return this.#toReply(application);
  }

  @Handles(consoleApi.getApplication)
  async get({ params }: RequestOf<'getApplication'>): Promise<OneApplication> {
    return this.#toReply(await this.#find(params.appId));
  }

  @Handles(consoleApi.getOverview)
  async getOverview({ params, caller }: RequestOf<'getOverview'>): Promise<Overview> {
    const unavailable = new Set<string>();
    const read = async <T>(service: string, work: Promise<T>): Promise<T | null> => {
      const figures = await nullIfUnavailable(work);
      if (figures === null) unavailable.add(service);
      return figures;
    };
    const [users, identities, devices, messages, pushes] = await Promise.all([
      read('accounts', this.rpc.call(userSearchRpc.count, params)),
      read('accounts', this.rpc.call(identitiesRpc.count, params)),
      read('push-delivery', this.rpc.call(pushOperationsRpc.countDevices, params)),
      read('mail', this.#messagesOfLastDay(params.appId)),
      read('push-delivery', this.#pushesUnderWay(caller)),
    ]);
    return {
      users: users === null ? null : { total: users.total, lastDay: users.createdLastDay, locked: users.locked },
      devices: devices === null ? null : { connected: devices.connected, platforms: installationsOf(devices) },
      messages,
      pushes,
      unverifiedPlatforms: (identities?.platforms ?? [])
        .filter(({ unverified }) => unverified > 0)
        .map(({ platform, unverified }) => ({ platform, accounts: unverified })),
      unavailable: [...unavailable].toSorted(),
    };
  }

  @Handles(consoleApi.getSeries)
  async getSeries({ params }: RequestOf<'getSeries'>): Promise<Series> {
    const now = this.clock.now().getTime();
    const days = Array.from({ length: SERIES_DAYS }, (_, index) => dayOf(now - (SERIES_DAYS - 1 - index) * DAY_MS));
    const pushDays = days.slice(-PUSH_SERIES_DAYS);
    const period = { ...params, from: days[0] ?? dayOf(now) };
    const [users, messages, pushes, connected] = await Promise.all([
      nullIfUnavailable(this.rpc.call(userSearchRpc.countByDay, period)),
      nullIfUnavailable(this.rpc.call(deliveriesRpc.countByDay, period)),
      nullIfUnavailable(this.rpc.call(pushOperationsRpc.countByDay, { ...params, from: pushDays[0] ?? dayOf(now) })),
      nullIfUnavailable(this.rpc.call(pushOperationsRpc.countConnectedByHour, period)),
    ]);
    return {
      days,
      users: users && perDay(days, users.days, ['signUps', 'logins']),
      messages: messages && perDay(days, messages.days, ['sent', 'dead']),
      pushes: pushes && perDay(pushDays, pushes.days, ['queued', 'acknowledged']),
      connected: connected && connectedSeries(days, connected.hours, now),
    };
  }

  @Handles(consoleApi.changeSetting)
  async changeSetting(request: RequestOf<'changeSetting'>): Promise<ReplyOf<'changeSetting'>> {
    const { params, body } = request;
    const { appId: id, name } = params;
    const { settings } = await this.#find(id);
    const known = SETTING_NAMES.find((each) => each === name && !isConcealedSetting(each));
    const before = known === undefined ? undefined : { value: settingText(settings[known]) };
    if (before !== undefined) request.act = { before };
    const { settings: written } = await ifUnchanged(
      this.rpc.call(applicationsRpc.changeSetting, { id, name, ...body }),
    );
    const { former } = body;
    // It stands for a class permission, whose lists it does not tell apart.
    const isCertain = known !== undefined && known !== 'userQueryEnabled' && former !== undefined;
    const undo = isCertain ? { value: former, former: settingText(written[known]) } : undefined;
    return {
      ...this.#toReply({ ...(await this.#find(id)), settings: written }),
      undo: undoOf(request, 'changeSetting', undo),
    };
  }

  @Handles(consoleApi.rotateKeys)
  async rotateKeys({ params, body }: RequestOf<'rotateKeys'>): Promise<OneApplication> {
    const { application } = await this.rpc.call(applicationsRpc.rotateKeys, { id: params.appId, ...body });
    return this.#toReply(application);
  }

  @Handles(consoleApi.revokeOldKeys)
  async revokeOldKeys({ params, body }: RequestOf<'revokeOldKeys'>): Promise<OneApplication> {
    const { application } = await this.rpc.call(applicationsRpc.revokeOldKeys, { id: params.appId, ...body });
    return this.#toReply(application);
  }

  @Handles(consoleApi.changeClassPermission)
  async changeClassPermission(request: RequestOf<'changeClassPermission'>): Promise<ReplyOf<'changeClassPermission'>> {
    const { params, body } = request;
    const { appId: id, className } = params;
    const { classPermissions } = await this.#find(id);
    request.act = { before: classPermissions[className] };
    const write = this.rpc.call(applicationsRpc.changePermission, { id, className, ...body });
    const { application } = await ifUnchanged(write);
    const { operations, permission, former } = body;
    const undo = former === undefined ? undefined : { operations, permission: former, former: permission };
    return { ...this.#toReply(application), undo: undoOf(request, 'changeClassPermission', undo) };
  }

  async #messagesOfLastDay(appId: string): Promise<Overview['messages']> {
    const from = new Date(this.clock.now().getTime() - DAY_MS).toISOString();
    const { counts } = await this.rpc.call(deliveriesRpc.list, { appId, from, counts: true, limit: 1 });
    const { byStatus, isExact } = counts ?? { byStatus: {}, isExact: false };
    const totalOf = (value = 0) => ({ value, isExact });
    return { sent: totalOf(byStatus.sent), dead: totalOf(byStatus.dead) };
  }

  async #pushesUnderWay(caller: Caller): Promise<Overview['pushes']> {
    const find = (status: 'in-queue' | 'scheduled', limit: number) =>
      this.rpc.call(pushRpc.findNotifications, {
        caller,
        ...NEWEST_FIRST,
        where: { status },
        limit,
        count: limit === 0,
      });
    const [{ results }, { count = 0 }] = await Promise.all([find('in-queue', UNDER_WAY), find('scheduled', 0)]);
    const underWay = results
      .map(toListedPush)
      .map(({ objectId, createdAt, title }) => ({ objectId, createdAt, title }));
    return { underWay, scheduled: count };
  }

  async #find(id: string): Promise<Application> {
    return (await this.rpc.call(applicationsRpc.get, { id })).application;
  }

  #toReply({ masterKey, ...application }: Application): { application: ApplicationDetails } {
    return {
      application: {
        ...application,
        masterKeyId: this.sealer.lookupHash(`master key ${masterKey}`).toString('hex').slice(0, KEY_ID_DIGITS),
        masterKeyCommand: `npm run gatepost -- apps show ${application.id}`,
        settings: SETTING_NAMES.filter((name) => !isConcealedSetting(name)).map((name) =>
          settingOf(name, application.settings),
        ),
        secretSettings: [
          ...SECRET_SETTING_NAMES.map((name) => ({
            name,
            isSet: application.secretsSet.includes(name),
            description: secretSettings.shape[name].description ?? '',
          })),
          ...SETTING_NAMES.filter(isConcealedSetting).map((name) => {
            const { isDefault, description } = settingOf(name, application.settings);
            return { name, isSet: !isDefault, description };
          }),
        ],
        apiUrl: this.config.apiUrl,
      },
    };
  }
}

/** @returns null while the service, or a server that it uses, is unavailable or overloaded */
async function nullIfUnavailable<T>(work: Promise<T>): Promise<T | null> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof AppError && (error.is('SERVICE_UNAVAILABLE') || error.is('QUERY_TIMED_OUT'))) return null;
    throw error;
  }
}

function dayOf(timeMs: number): string {
  return new Date(timeMs).toISOString().slice(0, 10);
}

function perDay<Name extends string>(
  days: readonly string[],
  found: readonly (Readonly<Record<Name, number>> & { readonly day: string })[],
  names: readonly Name[],
): Record<Name, number[]> {
  const byDay = new Map(found.map((counts) => [counts.day, counts]));
  const series = names.map((name) => [name, days.map((day) => byDay.get(day)?.[name] ?? 0)]);
  return Object.fromEntries(series) as Record<Name, number[]>;
}

function connectedSeries(
  days: readonly string[],
  counted: RpcReply<typeof pushOperationsRpc.countConnectedByHour>['hours'],
  now: number,
): Series['connected'] {
  const byDay = new Map<string, number>();
  for (const { at, connected } of counted) {
    const day = at.slice(0, 10);
    byDay.set(day, Math.max(connected, byDay.get(day) ?? 0));
  }
  const byHour = new Map(counted.map(({ at, connected }) => [at, connected]));
  const lastHour = Math.floor(now / HOUR_MS);
  const hours = Array.from({ length: CONNECTED_HOURS }, (_, index) =>
    new Date((lastHour - CONNECTED_HOURS + 1 + index) * HOUR_MS).toISOString(),
  );
  return {
    byDay: days.map((day) => byDay.get(day) ?? null),
    hours,
    byHour: hours.map((hour) => byHour.get(hour) ?? null),
  };
}

function installationsOf({ platforms }: RpcReply<typeof pushOperationsRpc.countDevices>): Record<string, number> {
  return Object.fromEntries(Object.entries(platforms).map(([name, { installations }]) => [name, installations]));
}

type Settings = Application['settings'];
const DEFAULT_SETTINGS: Settings = applicationSettings.parse({});

function settingOf(name: keyof Settings, settings: Settings): ApplicationDetails['settings'][number] {
  const value = settingText(settings[name]);
  return {
    name,
    kind: kindOf(DEFAULT_SETTINGS[name]),
    value,
    isDefault: value === settingText(DEFAULT_SETTINGS[name]),
    description: applicationSettings.shape[name].description ?? '',
  };
}

function kindOf(value: Settings[keyof Settings]): 'flag' | 'list' | 'object' | 'text' {
  if (typeof value === 'boolean') return 'flag';
  if (typeof value === 'string') return 'text';
  return Array.isArray(value) ? 'list' : 'object';
}
