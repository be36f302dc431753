import { randomBytes } from 'node:crypto';
import { expect } from 'vitest';
import { type RunningService, startService } from '#bootstrap';
import { connectorMessages, type PushMessage } from '#contracts';
import { InProcessTransport, DirectMessages } from '#messaging';
import { Readiness } from '#observability';
import { RedisModule } from '#redis';
import { eventually, newNamespace, testRun, unique } from '#testing';
import {
  DEVICE_QUEUES,
  type DeviceAddress,
  type DeviceQueues,
  partitionOf,
} from '../src/device-queues/device-queues.js';
import { type PushDeliveryConfig, pushDeliveryConfig, pushDeliveryEnvironment } from '../src/push-delivery.config.js';
import { PushDeliveryModule } from '../src/push-delivery.module.js';
import { TestDevice, type TestDeviceOptions } from './test-device.js';

const HOUR_MS = 3_600_000;

/** Carries messages between the processes of a test. Every application exists but those whose id begins with `unknown`. */
class OneProcess extends InProcessTransport {
  /** Wake-ups that are lost. */
  losesHints = false;
  readonly #receivers: Parameters<InProcessTransport['receiveAsNode']>[1][] = [];

  /** Ids that were looked up. */
  readonly lookedUp: string[] = [];
  /** The ids that accounts lists. */
  listed: readonly string[] = [];

  override request(pattern: string, body: string): Promise<string> {
    const { data } = JSON.parse(body) as { data: { appId: string } };
    if (pattern === 'accounts.listApplicationIds')
      return Promise.resolve(JSON.stringify({ data: { appIds: this.listed } }));
    this.lookedUp.push(data.appId);
    if (pattern !== 'accounts.findApplication') throw new Error(`unplanned call of ${pattern}`);
    const application = { id: data.appId, name: 'a', appKey: 'k', masterKey: 'm', settings: {}, createdAt: new Date() };
    return Promise.resolve(
      JSON.stringify({ data: { application: data.appId.startsWith('unknown') ? null : application } }),
    );
  }

  override receiveAsNode(...[node, receiver]: Parameters<InProcessTransport['receiveAsNode']>): void {
    this.#receivers.push(receiver);
    super.receiveAsNode(node, receiver);
  }

  /** Simulates a reconnect of all processes to the broker. */
  reconnect(): void {
    for (const receiver of this.#receivers) receiver.connected();
  }

  override async sendToNode(...[node, message]: Parameters<InProcessTransport['sendToNode']>): Promise<void> {
    if (!this.losesHints) await super.sendToNode(node, message);
  }
}

/** One push to devices. */
export interface TestPush {
  readonly id: string;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Connectors over the run's Redis, and the pushes of a dispatcher. */
export class Connectors {
  readonly transport = new OneProcess();
  readonly appId = unique('app');
  readonly #namespace = newNamespace();
  readonly #started: RunningService[] = [];
  readonly #devices: TestDevice[] = [];
  #order = 0;

  constructor(private readonly given: Partial<PushDeliveryConfig['connector']> = {}) {}

  /** Starts a connector. */
  async start(redisUrl = testRun().redisUrl): Promise<RunningService> {
    const config = pushDeliveryConfig(pushDeliveryEnvironment.parse({ GATEPOST_PUSH_ROLES: 'connector' }));
    const service = await startService({
      name: 'push-delivery',
      serves: [],
      imports: [
        RedisModule.forRoot({ url: redisUrl, namespace: this.#namespace, connectionName: 'test', isRequired: true }),
        PushDeliveryModule.forRoot(
          { ...config, connector: { ...config.connector, ...this.given } },
          { deviceQueues: 'redis' },
        ),
      ],
      env: {
        GATEPOST_DRAIN_SECONDS: 0,
        GATEPOST_HOST: '127.0.0.1',
        GATEPOST_LOG_LEVEL: 'error',
        GATEPOST_PORT: 0,
        NODE_ENV: 'test',
      },
      transport: () => this.transport,
    });
    service.app.useLogger(false);
    this.#started.push(service);
    await eventually(async () => {
      expect(await service.app.get(Readiness).problems()).toEqual([]);
    });
    return service;
  }

  get first(): RunningService {
    const [first] = this.#started;
    if (first === undefined) throw new Error('no connector was started');
    return first;
  }

  get queues(): DeviceQueues {
    return this.first.app.get<DeviceQueues>(DEVICE_QUEUES);
  }

  newAddress(): DeviceAddress {
    return { appId: this.appId, installationId: unique('device') };
  }

  /** Opens a socket to a connector. */
  async open(options: TestDeviceOptions = {}, service = this.first): Promise<TestDevice> {
    const device = await TestDevice.open(`ws://127.0.0.1:${service.port}/push`, options);
    this.#devices.push(device);
    return device;
  }

  /** Opens a socket and logs in. */
  async logIn(address: DeviceAddress, options: TestDeviceOptions = {}, service = this.first): Promise<TestDevice> {
    const device = await this.open(options, service);
    device.say({ cmd: 'login', ...address });
    await device.untilTold('loggedin');
    return device;
  }

  /** Adds a push to the queues of devices of one application, and wakes the connectors like a dispatcher. */
  async push(
    devices: readonly DeviceAddress[],
    change: Partial<PushMessage> = {},
    isRepeated = false,
  ): Promise<TestPush> {
    const id = randomBytes(12).toString('hex');
    this.#order += 1;
    const body = { alert: `push ${this.#order}` };
    const message: PushMessage = {
      id,
      appId: devices[0]?.appId ?? this.appId,
      order: this.#order,
      expiresAt: Date.now() + HOUR_MS,
      bodies: {},
      body: JSON.stringify(body),
      ...change,
    };
    for (const { installationId, appId } of devices) {
      const device = { installationId, platform: 'web', position: installationId };
      const connected = await this.queues.enqueue({
        message,
        partition: partitionOf({ appId, installationId }),
        devices: [device],
      });
      for (const { node, platform } of connected)
        await this.first.app.get(DirectMessages).send(node, connectorMessages.deliver, {
          wakeUps: [{ message, targets: [[platform, [installationId]]], isRepeated }],
          isBulk: false,
        });
    }
    return { id, body: JSON.parse(message.body) as TestPush['body'] };
  }

  /** Waits until the queue of a device is empty. */
  untilEmpty(address: DeviceAddress): Promise<void> {
    return eventually(async () => {
      const { refs } = await this.queues.peek(address, 100);
      if (refs.length > 0) throw new Error(`${refs.length} messages wait for ${address.installationId}`);
    });
  }

  async waiting(address: DeviceAddress): Promise<string[]> {
    return (await this.queues.peek(address, 128)).refs.map(({ id }) => id);
  }

  async stop(): Promise<void> {
    for (const device of this.#devices) device.terminate();
    for (const service of this.#started) await service.stop();
  }
}
