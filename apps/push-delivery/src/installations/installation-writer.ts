import { createHash } from 'node:crypto';
import { isIP } from 'node:net';
import { Inject, Injectable, Logger } from '@nestjs/common';
import { Clock } from '#bootstrap';
import type { JsonObject, ObjectWriteOptions } from '#contracts';
import type { Tx } from '#database';
import { appError, messageOf } from '#errors';
import {
  assertObjectSize,
  type InstallationChanges,
  installationClass,
  type InstallationRow,
  newObjectId,
  newRow,
  touched,
} from '#objects';
import {
  type AccessContext,
  type CreateOptions,
  ObjectAccess,
  type ObjectWrites,
  type PreparedWrite,
  type RemovalAccess,
  type Requester,
  StoredClasses,
  type WriteResult,
} from '#objects/store';
import { NetworkGuard } from '#outbound';
import { DEVICE_QUEUES, type DeviceQueues } from '../device-queues/device-queues.js';
import { PUSH_DELIVERY_CONFIG, type PushDeliveryConfig } from '../push-delivery.config.js';
import { objectIn } from '../vendors/vendor-channel.rules.js';
import { areSubscriptionKeys, type SubscriptionKeys } from '../vendors/web-push/web-push.crypto.js';
import {
  applyChanges,
  duplicatesAmong,
  identityOf,
  type InstallationIdentity,
  namesDevice,
  registeredAmong,
  savedIdentity,
} from './installation.rules.js';
import { InstallationsRepository } from './installations.repository.js';

const CLASS = installationClass.name;

type Condition = ReturnType<AccessContext['conditionOf']>;

interface Registration {
  readonly changes: InstallationChanges;
  readonly returnNew: boolean;
  readonly objectId?: string;
  readonly condition?: Condition;
}

interface DeviceWrite<T = WriteResult> extends PreparedWrite<T> {
  readonly identity: InstallationIdentity;
}

/** A new installation may turn out to be a device that is registered already, unlike other objects. */
@Injectable()
export class InstallationWriter implements ObjectWrites {
  readonly #logger = new Logger('Installations');

  constructor(
    classes: StoredClasses,
    private readonly access: ObjectAccess,
    private readonly installations: InstallationsRepository,
    @Inject(DEVICE_QUEUES) private readonly queues: DeviceQueues,
    private readonly clock: Clock,
    @Inject(PUSH_DELIVERY_CONFIG) private readonly config: Pick<PushDeliveryConfig, 'objectLimitBytes' | 'vendors'>,
  ) {
    classes.register({ objectClass: installationClass, objects: installations, writes: this });
  }

  /** Apps register at every start, so it updates an existing installation. */
  async prepareCreate(requester: Requester, given: JsonObject, { returnNew }: CreateOptions): Promise<DeviceWrite> {
    const fields = withSubscription(given);
    const { objectId, changes: parsed } = installationClass.parseNew(fields, requester.isMaster);
    const changes = this.#withToken(parsed);
    const context = await this.access.contextOf(requester);
    const identity = identityOf(changes, objectId);
    return {
      objectId: objectId ?? newObjectId(this.clock.now()),
      identity,
      run: async (tx) => {
        const known = await this.#lockRegistered(tx, requester.appId, identity);
        const { saved, isNew, isShown } = await this.#register(tx, context, known, { changes, returnNew });
        const result = isNew
          ? installationClass.createReply(saved, isShown)
          : { createdAt: saved.createdAt.toISOString(), ...installationClass.changeReply(saved, fields, isShown) };
        return { objectId: saved.objectId, isNew, result };
      },
    };
  }

  /** SDKs store an id permanently and never fall back to POST: a body that names a device registers it under an unknown id. */
  async prepareUpdate(
    requester: Requester,
    objectId: string,
    given: JsonObject,
    { where, returnNew }: ObjectWriteOptions,
  ): Promise<DeviceWrite> {
    const fields = withSubscription(given);
    const changes = this.#withToken(installationClass.parse(fields, requester.isMaster));
    const context = await this.access.contextOf(requester);
    const isRegistration = namesDevice(changes);
    if (!isRegistration) context.assertMay('update', CLASS);
    const condition = context.conditionOf(CLASS, where);
    const identity = identityOf(changes, objectId);
    return {
      objectId,
      identity,
      run: async (tx) => {
        const known = isRegistration
          ? await this.#lockNamedOrRegistered(tx, requester.appId, { ...identity, objectId })
          : await this.#lockNamed(tx, requester.appId, objectId);
        const registration = { changes, returnNew, objectId, condition };
        const { saved, isNew, isShown } = await this.#register(tx, context, known, registration);
        return { objectId: saved.objectId, isNew, result: installationClass.changeReply(saved, fields, isShown) };
      },
    };
  }

  prepareRemove({ appId }: Requester, objectId: string, { context, condition }: RemovalAccess): DeviceWrite<void> {
    return {
      objectId,
      identity: { objectId },
      run: async (tx) => {
        const current = await this.#lockNamed(tx, appId, objectId);
        context.assertMayWrite(current);
        await condition.assertMet(tx, current);
        await this.installations.remove(tx, appId, [objectId]);
        this.#clearQueuesAfterCommit(tx, appId, [current]);
      },
    };
  }

  async lock(tx: Tx, appId: string, writes: readonly PreparedWrite<unknown>[]): Promise<void> {
    const identities = writes.map((write) => (write as DeviceWrite<unknown>).identity);
    await this.installations.lockIdentities(tx, appId, identities);
  }

  async #lockRegistered(tx: Tx, appId: string, identity: InstallationIdentity): Promise<InstallationRow | undefined> {
    return registeredAmong(await this.installations.lockMatching(tx, appId, identity), identity);
  }

  async #lockNamed(tx: Tx, appId: string, objectId: string): Promise<InstallationRow> {
    const named = await this.installations.lock(tx, appId, objectId, 'UPDATE');
    if (named === undefined) throw appError('NOT_FOUND');
    return named;
  }

  async #lockNamedOrRegistered(
    tx: Tx,
    appId: string,
    identity: InstallationIdentity & { readonly objectId: string },
  ): Promise<InstallationRow | undefined> {
    const named = await this.installations.lock(tx, appId, identity.objectId, 'UPDATE');
    return named ?? this.#lockRegistered(tx, appId, identity);
  }

  async #register(
    tx: Tx,
    context: AccessContext,
    known: InstallationRow | undefined,
    { changes, returnNew, objectId = newObjectId(this.clock.now()), condition }: Registration,
  ): Promise<{ readonly saved: InstallationRow; readonly isNew: boolean; readonly isShown: boolean }> {
    const isNew = known === undefined;
    context.assertMay(isNew ? 'create' : 'update', CLASS);
    if (!isNew) context.assertMayWrite(known);
    await condition?.assertMet(tx, known ?? { objectId, acl: null });
    const saved = await this.#save(tx, context, known, { changes, objectId });
    return { saved, isNew, isShown: returnNew && (isNew || context.mayGet(CLASS, saved)) };
  }

  /** Removes other installations of the same device: it has one queue and gets a push once. @throws AppError OBJECT_TOO_LARGE; FORBIDDEN if the ACL of one of them refuses */
  async #save(
    tx: Tx,
    context: AccessContext,
    before: InstallationRow | undefined,
    { changes, objectId }: { readonly changes: InstallationChanges; readonly objectId: string },
  ): Promise<InstallationRow> {
    const { appId } = context.scope;
    const now = this.clock.now();
    const changed = applyChanges(before ?? newRow(installationClass, objectId, now), changes);
    const saved = before === undefined ? changed : { ...changed, ...touched(before, now) };
    assertObjectSize(saved.fields, this.config.objectLimitBytes);
    const same = await this.installations.lockMatching(tx, appId, savedIdentity(saved, changes));
    const duplicates = duplicatesAmong(same, saved);
    for (const duplicate of duplicates) context.assertMayWrite(duplicate);
    if (duplicates.length > 0) await this.installations.remove(tx, appId, idsOf(duplicates));
    if (before === undefined) await this.installations.insert(tx, appId, saved);
    else await this.installations.update(tx, appId, saved);
    this.#clearQueuesAfterCommit(tx, appId, [...duplicates, ...(before === undefined ? [] : [before])], [saved]);
    return saved;
  }

  #withToken(changes: InstallationChanges): InstallationChanges {
    return withSubscriptionToken(changes, this.config.vendors?.internalNetworks ?? []);
  }

  /** A failure is only logged: messages expire, and a device under the same id is the same one. @param kept installations whose queues stay */
  #clearQueuesAfterCommit(
    tx: Tx,
    appId: string,
    gone: readonly InstallationRow[],
    kept: readonly InstallationRow[] = [],
  ): void {
    const keptIds = new Set(kept.map(({ installationId }) => installationId));
    const devices = gone.flatMap(({ installationId }) =>
      installationId === null || keptIds.has(installationId) ? [] : [{ appId, installationId }],
    );
    if (devices.length === 0) return;
    tx.afterCommit(() => {
      this.queues.clear(devices).catch((error: unknown) => {
        this.#logger.warn(
          `the queues of ${devices.length} removed installations were not deleted and will expire: ${messageOf(error)}`,
        );
      });
    });
  }
}

/** Apps of Parse register a browser's subscription as JSON in `deviceToken`. */
function withSubscription(fields: JsonObject): JsonObject {
  const { deviceToken, ...others } = fields;
  const { deviceType = 'web' } = others;
  if (typeof deviceToken !== 'string' || !deviceToken.startsWith('{') || deviceType !== 'web') return fields;
  const webPush = objectIn(deviceToken);
  return 'endpoint' in webPush ? { ...others, webPush } : fields;
}

/** So a subscription has one installation. @throws AppError INCORRECT_TYPE for invalid keys, or an endpoint in an internal network */
function withSubscriptionToken(changes: InstallationChanges, internalNetworks: readonly string[]): InstallationChanges {
  const change = changes.custom.findLast(({ path }) => path[0] === 'webPush');
  if (change?.operation.kind !== 'set') return changes;
  const { endpoint, keys } = change.operation.value as unknown as { endpoint: string; keys: SubscriptionKeys };
  const host = new URL(endpoint).hostname.replace(/^\[|\]$/g, '');
  const isInternal = isIP(host) !== 0 && !new NetworkGuard(internalNetworks).permits(host);
  if (isInternal || !areSubscriptionKeys(keys))
    throw appError('INCORRECT_TYPE', {
      message: isInternal
        ? 'webPush: the endpoint must be a public address.'
        : 'webPush: p256dh must be a point of the curve P-256, and auth 16 bytes, in base64url.',
    });
  return { ...changes, deviceToken: createHash('sha256').update(endpoint).digest('base64url') };
}

function idsOf(installations: readonly InstallationRow[]): string[] {
  return installations.map(({ objectId }) => objectId);
}
