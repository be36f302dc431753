import { Inject, Injectable } from '@nestjs/common';
import { ApplicationDirectory } from '#admission';
import { Clock } from '#bootstrap';
import {
  type Caller,
  type JsonObject,
  PUSH_LIMITS,
  pushOperationsRpc,
  type pushRpc,
  type RpcData,
  type RpcReply,
} from '#contracts';
import { appError, AppError } from '#errors';
import { newObjectId } from '#objects';
import { QueryDatabase } from '#objects/store';
import { DEVICE_QUEUES, type DeviceQueues, openingOf, type SessionRef } from '../device-queues/device-queues.js';
import { platformOf, withFewPlatforms, withTargeted } from '../dispatch/delivery-counts.rules.js';
import { assertFindable, InstallationScanRepository } from '../installations/installations.repository.js';
import { PushDispatcher } from '../dispatch/push-dispatcher.js';
import { PushDatabase } from '../push-delivery.database.js';
import type { NewNotification, NotificationCounts, TargetedInstallation } from '../pushes/push.row.js';
import { VendorCredentials } from '../vendors/vendor-credentials.js';
import { routePage } from '../vendors/vendor-route.rules.js';
import { NotificationsRepository } from './notifications.repository.js';
import { type ParsedPush, parsePush, parsePushToDevices } from './push-request.rules.js';

type PushRequest = RpcData<typeof pushRpc.send>;
type Accepted = RpcReply<typeof pushRpc.send>;
type PushOrigin = Pick<NewNotification, 'appId' | 'requestId'>;

/** A push is accepted once its row is committed; the row is also its job (ADR 22). */
@Injectable()
export class SendPushService {
  constructor(
    private readonly applications: ApplicationDirectory,
    private readonly notifications: NotificationsRepository,
    private readonly database: PushDatabase,
    private readonly clock: Clock,
    private readonly dispatcher: PushDispatcher,
  ) {}

  /** @throws AppError CLIENT_PUSH_OFF, and the errors of `parsePush` and `parseWhere` */
  async send({ caller, body, prod }: PushRequest): Promise<Accepted> {
    await this.#assertMayPush(caller);
    return this.#accept(caller, parsePush(body, { now: this.clock.now(), prod }));
  }

  /** @throws AppError CLIENT_PUSH_OFF, and the errors of `parsePushToDevices` */
  async sendToDevices({ caller, body, prod }: PushRequest): Promise<Accepted> {
    await this.#assertMayPush(caller);
    return this.#accept(caller, parsePushToDevices(body, { now: this.clock.now(), prod }));
  }

  /** @throws AppError NOT_FOUND for an unknown application, and the errors of `send` for the body */
  async sendAsOperator(appId: string, body: JsonObject): Promise<Accepted> {
    await this.applications.assertKnown(appId);
    return this.#accept({ appId, requestId: null }, parsePush(body, { now: this.clock.now(), prod: 'prod' }));
  }

  /** A repeated request gets the response of the first one. */
  async #accept(origin: PushOrigin, { notification, reqId }: ParsedPush): Promise<Accepted> {
    const { appId, requestId } = origin;
    assertFindable(appId, notification.target);
    const row = { ...notification, appId, requestId, objectId: newObjectId(notification.createdAt) };
    const accepted = await this.database.transaction(async (tx) => {
      const first = reqId === null ? undefined : await this.notifications.claimRequestId(tx, { ...row, reqId });
      if (first !== undefined) return first;
      const status = statusOf(row);
      await this.notifications.add(tx, row, status);
      tx.afterCommit(() => {
        this.dispatcher.accepted(status === 'in-queue');
      });
      return row;
    });
    return { objectId: accepted.objectId, createdAt: accepted.createdAt.toISOString() };
  }

  async #assertMayPush({ appId, isMaster }: Caller): Promise<void> {
    if (isMaster) return;
    const application = await this.applications.find(appId);
    if (application?.settings.allowClientPush !== true) throw appError('CLIENT_PUSH_OFF');
  }
}

function statusOf({ dueAt, createdAt }: NewNotification): 'scheduled' | 'in-queue' {
  return dueAt > createdAt ? 'scheduled' : 'in-queue';
}

type Rpc = typeof pushOperationsRpc;
type Data<Name extends keyof Rpc> = RpcData<Rpc[Name]>;
type Reply<Name extends keyof Rpc> = Promise<RpcReply<Rpc[Name]>>;

/** Below the timeout of the RPC. */
const TIMEOUT_MS = 3_000;
const SAMPLE = 5;

/** Shows operators before a push which devices it would reach, which are connected, and what they would receive. */
@Injectable()
export class PushAudienceService {
  constructor(
    private readonly applications: ApplicationDirectory,
    private readonly installations: InstallationScanRepository,
    private readonly queries: QueryDatabase,
    private readonly vendors: VendorCredentials,
    @Inject(DEVICE_QUEUES) private readonly queues: DeviceQueues,
    private readonly clock: Clock,
  ) {}

  /** @throws AppError NOT_FOUND for an unknown application; the errors of `parsePush` */
  async countTargets({ appId, body }: Data<'countTargets'>): Reply<'countTargets'> {
    await this.applications.assertKnown(appId);
    const { target, message, prod } = this.parse(appId, body).notification;
    const channels = await this.vendors.channelsOf(appId);
    const push = { appId, target, hasVendors: channels.length > 0 };
    const leftOut = this.installations.countLeftOut(push, TIMEOUT_MS, this.queries);
    // The other count can fail first.
    leftOut.catch(() => undefined);
    let counts: NotificationCounts = {};
    const sample: TargetedInstallation[] = [];
    const isExact = await this.installations.findInTime(push, TIMEOUT_MS, this.queries, (found) => {
      sample.push(...found.slice(0, SAMPLE - sample.length));
      const page = withFewPlatforms(counts, found);
      const { installations } = push.hasVendors
        ? routePage({ objectId: '', message, prod }, page, { channels, isBulk: true })
        : { installations: page };
      counts = withTargeted(counts, installations);
    });
    return { ...summaryOf(counts), isExact, leftOut: (await leftOut) ?? null, sample: sample.map(shown) };
  }

  /** @throws AppError NOT_FOUND for an unknown application */
  async preview({ appId, body }: Data<'preview'>): Reply<'preview'> {
    await this.applications.assertKnown(appId);
    const size = { bytes: Buffer.byteLength(JSON.stringify(body)), maxBytes: PUSH_LIMITS.bytes };
    try {
      const { message, target, dueAt, expiresAt } = this.parse(appId, body).notification;
      return {
        ...size,
        message: {
          body: message.body,
          bodies: { ...message.bodies },
          platforms: target.platforms === undefined ? null : [...target.platforms],
          dueAt: dueAt.toISOString(),
          expiresAt: expiresAt.toISOString(),
        },
        problem: null,
      };
    } catch (error) {
      if (!(error instanceof AppError) || error.status >= 500) throw error;
      const { errorName: name, code, message } = error;
      return { ...size, message: null, problem: { name, code, message } };
    }
  }

  async listConnected({ appId, after, limit }: Data<'listConnected'>): Reply<'listConnected'> {
    const { sessions, next } = await this.queues.listConnected(appId, after, limit);
    const devices = sessions.map(({ device: { installationId }, session }) => ({
      installationId,
      ...connectionOf(session),
    }));
    return { devices, next: next ?? null };
  }

  async describeDevices({ appId, installationIds }: Data<'describeDevices'>): Reply<'describeDevices'> {
    const states = await this.queues.describe(installationIds.map((installationId) => ({ appId, installationId })));
    const devices = states.map(({ session, waiting, dropped }, place) => ({
      installationId: installationIds[place] ?? '',
      connection: session === undefined ? null : connectionOf(session),
      waiting,
      dropped,
    }));
    return { devices };
  }

  /** Fails exactly where sending the push would. */
  private parse(appId: string, body: JsonObject): ParsedPush {
    const parsed = parsePush(body, { now: this.clock.now(), prod: 'prod' });
    assertFindable(appId, parsed.notification.target);
    return parsed;
  }
}

function summaryOf(counts: NotificationCounts) {
  const platforms = Object.entries(counts).map(([platform, { targeted, unreachable, vendored = 0 }]) => {
    return [platform, { targeted, unreachable, vendor: vendored }] as const;
  });
  const sum = (kind: 'targeted' | 'unreachable') => platforms.reduce((total, [, own]) => total + own[kind], 0);
  return { total: sum('targeted'), unreachable: sum('unreachable'), platforms: Object.fromEntries(platforms) };
}

function shown(installation: TargetedInstallation) {
  const { objectId, installationId } = installation;
  return { objectId, installationId, platform: platformOf(installation) };
}

function connectionOf(session: SessionRef) {
  const { since, protocol } = openingOf(session);
  return { since: since?.toISOString() ?? null, protocol, node: session.node };
}
