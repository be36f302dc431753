import { randomBytes, randomUUID } from 'node:crypto';
import pg from 'pg';
import {
  type EventContract,
  type EventPayload,
  events,
  type MailRequest,
  sealedCodeContext,
  sealedTokenContext,
  type TextMessageRequest,
} from '#contracts';
import { RabbitTransport, RpcClient } from '#messaging';
import { Sealer } from '#security';
import { eventually, type GatepostServer, startServices, testRun, unique, uniquePhone } from '#testing';
import { MailDatabase } from '../src/mail.config.js';
import { mailDatabase } from '../src/mail.database.js';

const HOUR_MS = 3_600_000;

/** A row of the deliveries table. */
export interface DeliveryRow {
  readonly id: string;
  readonly status: string;
  readonly attempts: number;
  readonly last_error: string | null;
}

/** The mail service alone, in processes behind a real broker, with the events of other services. */
export class MailService {
  /** Sends the RPC calls of operators. */
  readonly rpc: RpcClient;

  private constructor(
    readonly server: GatepostServer,
    private readonly broker: RabbitTransport,
    private readonly database: MailDatabase,
    private readonly sealer: Sealer,
  ) {
    this.rpc = new RpcClient(broker);
  }

  /** @param accounts processes of accounts, for the RPCs that look up an application */
  static async start(replicas: number, env: Readonly<Record<string, string>>, accounts = 0): Promise<MailService> {
    const server = await startServices({ gateway: 0, accounts, mail: replicas }, env);
    const { GATEPOST_NAMESPACE: namespace = '', DATABASE_URL: url = '', GATEPOST_SECRET: secret = '' } = server.env;
    const broker = new RabbitTransport({ url: testRun().amqpUrl, namespace, connectionName: 'test' });
    await eventually(() => {
      if (!broker.isConnected()) throw new Error('the broker is not connected');
    });
    return new MailService(server, broker, new MailDatabase(mailDatabase(url, 2)), new Sealer(secret));
  }

  /** Requests a mail to a unique address. */
  async request(
    changes: Partial<MailRequest> = {},
    eventId?: string,
  ): Promise<MailRequest & { readonly id: string; readonly token: string }> {
    const user = { appId: 'app', userId: unique('user') };
    const token = randomBytes(16).toString('hex');
    const request: MailRequest = {
      ...user,
      kind: 'verifyEmail',
      email: `${user.userId}@example.com`,
      username: 'ada',
      applicationName: 'Shop',
      pageUrl: null,
      languages: ['en'],
      userUpdatedAt: new Date().toISOString(),
      requestedAt: new Date().toISOString(),
      expiresAt: new Date(Date.now() + HOUR_MS).toISOString(),
      ...changes,
      sealedToken: '',
    };
    const sealedToken = this.sealer.seal(token, sealedTokenContext(request));
    const id = await this.publish(events.mailRequested, { ...request, sealedToken }, eventId);
    return { ...request, id, token };
  }

  /** Requests a text message to a unique number. */
  async requestCode(
    changes: Partial<TextMessageRequest> = {},
  ): Promise<TextMessageRequest & { readonly id: string; readonly code: string }> {
    const code = '012345';
    const request: TextMessageRequest = {
      appId: unique('app'),
      mobilePhoneNumber: uniquePhone(),
      purpose: 'generic',
      ttlMinutes: 10,
      expiresAt: new Date(Date.now() + HOUR_MS).toISOString(),
      smsType: 'sms',
      name: 'Shop',
      ...changes,
      sealedCode: '',
    };
    const sealedCode = this.sealer.seal(code, sealedCodeContext(request));
    const id = await this.publish(events.smsRequested, { ...request, sealedCode });
    return { ...request, id, code };
  }

  async publish<C extends EventContract>(
    contract: C,
    payload: EventPayload<C>,
    id: string = randomUUID(),
  ): Promise<string> {
    await this.broker.publishEvent({ id, pattern: contract.pattern, body: JSON.stringify(payload) });
    return id;
  }

  deliveries(): Promise<DeliveryRow[]> {
    return this.database.query<DeliveryRow>(
      'SELECT id, status, attempts, last_error FROM mail.deliveries ORDER BY created_at',
    );
  }

  /** Waits until a delivery has the status. */
  untilRecorded(id: string, status: string, timeoutMs?: number): Promise<DeliveryRow> {
    return eventually(async () => {
      const row = (await this.deliveries()).find((delivery) => delivery.id === id);
      if (row?.status !== status) throw new Error(`${id} is ${JSON.stringify(row)}`);
      return row;
    }, timeoutMs);
  }

  /**
   * Waits until a delivery is being sent, and locks its row so that its result cannot be stored. @returns a function that
   * ends the lock and terminates the connections that wait for it
   */
  async holdBack(id: string): Promise<() => Promise<void>> {
    const client = new pg.Client({ connectionString: this.server.env['DATABASE_URL'] });
    await client.connect();
    await client.query('BEGIN');
    await eventually(async () => {
      const held = await client.query('SELECT id FROM mail.deliveries WHERE id = $1 AND lease IS NOT NULL FOR UPDATE', [
        id,
      ]);
      if (held.rows.length === 0) throw new Error(`${id} is not being sent`);
    });
    return async () => {
      await client.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE datname = current_database() AND wait_event_type = 'Lock'`,
      );
      await client.end();
    };
  }

  /** Makes all waiting deliveries due. */
  async hurry(): Promise<void> {
    await this.database.query('UPDATE mail.deliveries SET next_attempt_at = now() WHERE settled_at IS NULL');
  }

  async stop(): Promise<void> {
    await this.server.stop();
    await this.broker.close();
    await this.database.close();
  }
}
