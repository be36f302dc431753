import { Controller, Inject } from '@nestjs/common';
import { ApplicationDirectory } from '#admission';
import { Clock } from '#bootstrap';
import { type JsonObject, PUSH_LIMITS, pushOperationsRpc, type RpcData, type RpcReply } from '#contracts';
import { AppError } from '#errors';
import { RpcHandler } from '#messaging';
import { QueryDatabase } from '#objects/store';
import { DEVICE_QUEUES, type DeviceQueues, openingOf, type SessionRef } from '../device-queues/device-queues.js';
import { platformOf, withFewPlatforms, withTargeted } from '../dispatch/delivery-counts.rules.js';
import { assertFindable, InstallationScanRepository } from '../installations/installations.repository.js';
import type { NotificationCounts, TargetedInstallation } from '../pushes/push.row.js';
import { VendorCredentialsService } from '../vendors/vendor-credentials.service.js';
import { routePage } from '../vendors/vendor-route.rules.js';
import { type ParsedPush, parsePush } from './push-request.rules.js';

type Rpc = typeof pushOperationsRpc;
type Data<Name extends keyof Rpc> = RpcData<Rpc[Name]>;
type Reply<Name extends keyof Rpc> = Promise<RpcReply<Rpc[Name]>>;

/** Below the timeout of the RPC. */
const TIMEOUT_MS = 3_000;
const SAMPLE = 5;

/** Shows operators before a push which devices it would reach, which are connected, and what they would receive. */
@Controller()
export class PushAudienceController {
  constructor(
    private readonly applications: ApplicationDirectory,
    private readonly installations: InstallationScanRepository,
    private readonly queries: QueryDatabase,
    private readonly vendors: VendorCredentialsService,
    @Inject(DEVICE_QUEUES) private readonly queues: DeviceQueues,
    private readonly clock: Clock,
  ) {}

  @RpcHandler(pushOperationsRpc.countTargets)
  async countTargets({ appId, body }: Data<'countTargets'>): Reply<'countTargets'> {
    await this.applications.assertKnown(appId);
    const { target, message, prod } = this.#parse(appId, body).notification;
    const channels = await this.vendors.channelsOf(appId);
    const push = { appId, target, hasVendors: channels.length > 0 || message.isForVendorsOnly === true };
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
    return { ...summaryOf(counts), isExact, leftOut: (await leftOut) ?? null, sample: sample.map(toSampledDevice) };
  }

  @RpcHandler(pushOperationsRpc.preview)
  async preview({ appId, body }: Data<'preview'>): Reply<'preview'> {
    await this.applications.assertKnown(appId);
    const size = { bytes: Buffer.byteLength(JSON.stringify(body)), maxBytes: PUSH_LIMITS.bytes };
    try {
      const { message, target, dueAt, expiresAt } = this.#parse(appId, body).notification;
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

  @RpcHandler(pushOperationsRpc.listConnected)
  async listConnected({ appId, after, limit }: Data<'listConnected'>): Reply<'listConnected'> {
    const { sessions, next } = await this.queues.listConnected(appId, after, limit);
    const devices = sessions.map(({ device: { installationId }, session }) => ({
      installationId,
      ...connectionOf(session),
    }));
    return { devices, next: next ?? null };
  }

  @RpcHandler(pushOperationsRpc.describeDevices)
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
  #parse(appId: string, body: JsonObject): ParsedPush {
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

function toSampledDevice(installation: TargetedInstallation) {
  const { objectId, installationId } = installation;
  return { objectId, installationId, platform: platformOf(installation) };
}

function connectionOf(session: SessionRef) {
  const { since, protocol } = openingOf(session);
  return { since: since?.toISOString() ?? null, protocol, node: session.node };
}
