import { LATENCY_BUCKETS_SECONDS, REDIS_BUCKETS_SECONDS } from './metric-catalogue.js';
import { PushMetrics } from './push-metrics.js';

const CHANNELS = ['mail', 'sms'];
const JOBS = [
  'console-cleanup',
  'daily-counts',
  'login-counts-cleanup',
  'mail-cleanup',
  'push-cleanup',
  'connected-counts',
  'device-queue-cleanup',
  'delivery-statistics',
  'delivery-totals',
  'vendor-housekeeping',
] as const;

export type JobName = (typeof JOBS)[number];

/** The metrics of one process. Metric names are defined here and in `PushMetrics` only; docs/metrics.md is generated from this class. */
export class Metrics extends PushMetrics {
  readonly buildInfo = this.gauge({
    name: 'gatepost_build_info',
    help: '1',
    by: 'all',
    labels: { component: 'the service, or `standalone`', version: 'version of Gatepost' },
  });

  readonly ready = this.gauge({
    name: 'gatepost_ready',
    help: '1 while /readyz reports that the process can serve, else 0',
    by: 'all',
  });

  readonly httpRequests = this.histogram({
    name: 'gatepost_http_request_duration_seconds',
    help: 'Duration of HTTP requests until the response',
    by: 'gateway',
    labels: { method: 'HTTP method', route: 'pattern of the path, or `unknown`', status: 'HTTP status' },
    buckets: LATENCY_BUCKETS_SECONDS,
  });

  readonly rateLimited = this.counter({
    name: 'gatepost_rate_limited_total',
    help: 'Requests refused with 429, and device logins refused with 4116, because a rate limit was exceeded',
    by: 'gateway; connectors for `failedCredentials`',
    labels: { group: ['requests', 'logins', 'signUps', 'messages', 'failedCredentials'] },
  });

  readonly rateLimitFallbacks = this.counter({
    name: 'gatepost_rate_limit_fallbacks_total',
    help: 'Requests counted by this process alone because Redis was unavailable',
    by: 'gateway',
  });

  readonly rpcCalls = this.histogram({
    name: 'gatepost_rpc_call_duration_seconds',
    help: 'Duration of RPC calls to other services, until reply or timeout',
    by: 'all that call other services over RabbitMQ',
    labels: { callee: 'the called service', outcome: ['answered', 'timed_out', 'unavailable'] },
    buckets: LATENCY_BUCKETS_SECONDS,
  });

  readonly rpcHandled = this.histogram({
    name: 'gatepost_rpc_duration_seconds',
    help: 'Duration of RPCs in the serving process, from arrival to reply; the wait at the broker is not included',
    by: 'services',
    labels: {
      pattern: 'of the [contract](contracts.md); `malformed`, `refused`',
      outcome: '`ok`, or the [name of the error](errors.md)',
    },
    buckets: LATENCY_BUCKETS_SECONDS,
  });

  readonly eventsHandled = this.counter({
    name: 'gatepost_events_handled_total',
    help: 'Attempts to handle an event; dead: dead-lettered',
    by: 'services that receive events',
    labels: { outcome: ['ok', 'retry', 'dead'] },
  });

  readonly brokerConnected = this.gauge({
    name: 'gatepost_broker_connected',
    help: '1 while the process is connected to RabbitMQ and can receive, else 0',
    by: 'all but standalone',
  });

  readonly brokerBlocked = this.gauge({
    name: 'gatepost_broker_blocked',
    help: '1 while RabbitMQ accepts no messages from the process because it is short of memory or disk, else 0',
    by: 'all but standalone',
  });

  readonly brokerPending = this.gauge({
    name: 'gatepost_broker_pending_bytes',
    help: 'Bytes of messages that wait for a reply or a confirm, or in the socket; at 64 MiB new messages are refused',
    by: 'all but standalone',
  });

  readonly brokerQueue = this.gauge({
    name: 'gatepost_broker_queue_messages',
    help: 'Messages that wait in a queue of RabbitMQ',
    by: 'processes that receive from the queue or publish to it',
    labels: {
      queue:
        'its name without `GATEPOST_NAMESPACE`: `rpc.<service>`, `events.<service>`, `events.<service>.retry-<n>`, `events.<service>.dead`',
    },
  });

  readonly outboxPublished = this.counter({
    name: 'gatepost_outbox_published_total',
    help: 'Attempts of the outbox relay to publish an event',
    by: 'services that publish events',
    labels: { schema: ['accounts'], outcome: ['ok', 'failed'] },
  });

  readonly outboxWaiting = this.gauge({
    name: 'gatepost_outbox_waiting',
    help: 'Events that wait in the outbox, counted up to 10,000',
    by: 'services that publish events',
    labels: { schema: ['accounts'] },
  });

  readonly outboxOldest = this.gauge({
    name: 'gatepost_outbox_oldest_waiting_seconds',
    help: 'Time since the oldest of these events could have been published',
    by: 'services that publish events',
    labels: { schema: ['accounts'] },
  });

  readonly jobLastSuccess = this.gauge({
    name: 'gatepost_job_last_success_timestamp_seconds',
    help: 'Unix time at which this process last completed a round of a periodic job; 0 until the first one',
    by: 'accounts, console, mail, push-delivery',
    labels: { name: JOBS },
  });

  readonly databaseConnections = this.gauge({
    name: 'gatepost_database_pool_connections',
    help: 'Open connections to PostgreSQL',
    by: 'all with a database',
    labels: {
      pool: 'the schema; for queries of clients `<schema>-queries`, with an index `<schema>-indexed-queries`',
      state: ['used', 'idle'],
    },
  });

  readonly databaseLimit = this.gauge({
    name: 'gatepost_database_pool_limit',
    help: 'Maximum number of PostgreSQL connections of the pool',
    by: 'all with a database',
    labels: { pool: 'as above' },
  });

  readonly databaseWaiting = this.gauge({
    name: 'gatepost_database_pool_waiting',
    help: 'Statements and transactions that wait for a connection',
    by: 'all with a database',
    labels: { pool: 'as above' },
  });

  readonly redisConnected = this.gauge({
    name: 'gatepost_redis_connected',
    help: '1 while the connection to Redis is ready, else 0',
    by: 'accounts, gateway, push-delivery',
  });

  readonly redisInFlight = this.gauge({
    name: 'gatepost_redis_commands_in_flight',
    help: 'Commands that wait for a reply of Redis',
    by: 'accounts, gateway, push-delivery',
  });

  readonly redisCommands = this.histogram({
    name: 'gatepost_redis_command_duration_seconds',
    help: 'Duration of Redis commands and scripts, until reply or timeout',
    by: 'accounts, gateway, push-delivery',
    labels: { outcome: ['ok', 'failed'] },
    buckets: REDIS_BUCKETS_SECONDS,
  });

  readonly passwordQueue = this.gauge({
    name: 'gatepost_password_queue_length',
    help: 'Passwords that wait for a hashing thread',
    by: 'accounts',
  });

  readonly passwords = this.histogram({
    name: 'gatepost_password_hash_duration_seconds',
    help: 'Duration of hashing or comparing a password, including the wait',
    by: 'accounts',
    buckets: LATENCY_BUCKETS_SECONDS,
  });

  readonly passwordsRefused = this.counter({
    name: 'gatepost_passwords_refused_total',
    help: 'Passwords refused because the queue was full or the wait too long',
    by: 'accounts',
  });

  readonly lockouts = this.counter({
    name: 'gatepost_lockouts_total',
    help: 'Users locked out after too many failed logins',
    by: 'accounts',
  });

  readonly deliveries = this.counter({
    name: 'gatepost_deliveries_total',
    help: 'Attempts to send mails (mail) and text messages (sms); released: the server was unavailable, and the attempt does not count',
    by: 'mail',
    labels: { channel: CHANNELS, outcome: ['sent', 'failed', 'dead', 'dropped', 'released'] },
  });

  readonly deliveriesWaiting = this.gauge({
    name: 'gatepost_deliveries_waiting',
    help: 'Messages that wait for their first attempt (queued) or a retry (failed), counted up to 10,000',
    by: 'mail',
    labels: { channel: CHANNELS, status: ['queued', 'failed'] },
  });

  readonly oldestDelivery = this.gauge({
    name: 'gatepost_delivery_oldest_waiting_seconds',
    help: 'Age of the oldest waiting message, 0 where none waits',
    by: 'mail',
    labels: { channel: CHANNELS },
  });
}
