import { LATENCY_BUCKETS_SECONDS, MetricCatalogue, REDIS_BUCKETS_SECONDS } from './metric-catalogue.js';

const CHANNELS = ['mail', 'sms'];
const KINDS_OF_PUSHES = ['single', 'bulk'];
const JOBS = ['mail-cleanup', 'push-cleanup', 'device-queue-cleanup', 'delivery-statistics'] as const;

/** The periodic jobs of all services, by their names in metrics. */
export type JobName = (typeof JOBS)[number];

/** The metrics of one process. Every name stands here and nowhere else; docs/metrics.md is made from it. */
export class Metrics extends MetricCatalogue {
  readonly buildInfo = this.gauge({
    name: 'gatepost_build_info',
    help: '1, with what runs here',
    by: 'all',
    labels: { component: 'the service, or `standalone`', version: 'version of Gatepost' },
  });

  readonly ready = this.gauge({
    name: 'gatepost_ready',
    help: '1 where /readyz says that the process can serve, else 0',
    by: 'all',
  });

  readonly httpRequests = this.histogram({
    name: 'gatepost_http_request_duration_seconds',
    help: 'HTTP requests answered, by method, route and status',
    by: 'gateway',
    labels: { method: 'HTTP method', route: 'pattern of the path, or `unknown`', status: 'HTTP status' },
    buckets: LATENCY_BUCKETS_SECONDS,
  });

  readonly rateLimited = this.counter({
    name: 'gatepost_rate_limited_total',
    help: 'Requests refused with 429, and logins of devices with 4116, because there were too many',
    by: 'gateway; connectors for `failedCredentials`',
    labels: { group: ['requests', 'logins', 'signUps', 'messages', 'failedCredentials'] },
  });

  readonly rateLimitFallbacks = this.counter({
    name: 'gatepost_rate_limit_fallbacks_total',
    help: 'Requests counted by this process alone, because Redis was away',
    by: 'gateway',
  });

  readonly rpcCalls = this.histogram({
    name: 'gatepost_rpc_call_duration_seconds',
    help: 'Questions to other services, from the question to the answer or to the end of patience',
    by: 'all that ask others by RabbitMQ',
    labels: { callee: 'the service that was asked', outcome: ['answered', 'timed_out', 'unavailable'] },
    buckets: LATENCY_BUCKETS_SECONDS,
  });

  readonly rpcHandled = this.histogram({
    name: 'gatepost_rpc_duration_seconds',
    help: 'RPCs answered, from their arrival; what they waited for at the broker is not in it',
    by: 'services',
    labels: {
      pattern: 'of the [contract](contracts.md); `malformed`, `refused`',
      outcome: '`ok`, or the [name of the error](errors.md)',
    },
    buckets: LATENCY_BUCKETS_SECONDS,
  });

  readonly eventsHandled = this.counter({
    name: 'gatepost_events_handled_total',
    help: 'Attempts to handle an event: done, to be tried again, or put aside as a dead letter',
    by: 'services that receive events',
    labels: { outcome: ['ok', 'retry', 'dead'] },
  });

  readonly brokerConnected = this.gauge({
    name: 'gatepost_broker_connected',
    help: '1 where the process has its connections to RabbitMQ, and can receive, else 0',
    by: 'all but standalone',
  });

  readonly brokerBlocked = this.gauge({
    name: 'gatepost_broker_blocked',
    help: '1 where RabbitMQ takes no messages from the process because it is short of memory or disk, else 0',
    by: 'all but standalone',
  });

  readonly brokerPending = this.gauge({
    name: 'gatepost_broker_pending_bytes',
    help: 'Bytes of messages that wait for a reply or a confirm, or in the socket; from 64 MiB on new ones are refused',
    by: 'all but standalone',
  });

  readonly brokerQueue = this.gauge({
    name: 'gatepost_broker_queue_messages',
    help: 'Messages that wait in a queue of RabbitMQ; told alike by everybody who knows the queue',
    by: 'those that receive from the queue or publish to it',
    labels: {
      queue:
        'its name without `GATEPOST_NAMESPACE`: `rpc.<service>`, `events.<service>`, `events.<service>.retry-<n>`, `events.<service>.dead`',
    },
  });

  readonly outboxPublished = this.counter({
    name: 'gatepost_outbox_published_total',
    help: 'Events handed to the broker by the outbox relay',
    by: 'services that publish events',
    labels: { schema: ['accounts'], outcome: ['ok', 'failed'] },
  });

  readonly outboxWaiting = this.gauge({
    name: 'gatepost_outbox_waiting',
    help: 'Events that wait for the broker, 10,000 at most; every process tells the same',
    by: 'services that publish events',
    labels: { schema: ['accounts'] },
  });

  readonly outboxOldest = this.gauge({
    name: 'gatepost_outbox_oldest_waiting_seconds',
    help: 'For how long the first of them could have been published',
    by: 'services that publish events',
    labels: { schema: ['accounts'] },
  });

  readonly jobLastSuccess = this.gauge({
    name: 'gatepost_job_last_success_timestamp_seconds',
    help: 'Unix time at which this process last completed a round of a periodic job; 0 until the first one',
    by: 'mail, push-delivery',
    labels: { name: JOBS },
  });

  readonly databaseConnections = this.gauge({
    name: 'gatepost_database_pool_connections',
    help: 'Connections to PostgreSQL',
    by: 'all with a database',
    labels: { pool: 'the schema; `<schema>-queries` for queries that clients word', state: ['used', 'idle'] },
  });

  readonly databaseLimit = this.gauge({
    name: 'gatepost_database_pool_limit',
    help: 'Connections to PostgreSQL that the pool may open',
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
    help: '1 where the connection to Redis is ready, else 0',
    by: 'accounts, gateway, push-delivery',
  });

  readonly redisInFlight = this.gauge({
    name: 'gatepost_redis_commands_in_flight',
    help: 'Commands that wait for the answer of Redis',
    by: 'accounts, gateway, push-delivery',
  });

  readonly redisCommands = this.histogram({
    name: 'gatepost_redis_command_duration_seconds',
    help: 'Commands and scripts, until Redis answered or was given up',
    by: 'accounts, gateway, push-delivery',
    labels: { outcome: ['ok', 'failed'] },
    buckets: REDIS_BUCKETS_SECONDS,
  });

  readonly passwordQueue = this.gauge({
    name: 'gatepost_password_queue_length',
    help: 'Passwords waiting for a processor',
    by: 'accounts',
  });

  readonly passwords = this.histogram({
    name: 'gatepost_password_hash_duration_seconds',
    help: 'Passwords hashed or compared, waiting included',
    by: 'accounts',
    buckets: LATENCY_BUCKETS_SECONDS,
  });

  readonly passwordsRefused = this.counter({
    name: 'gatepost_passwords_refused_total',
    help: 'Passwords refused because too many waited already, or they themselves too long',
    by: 'accounts',
  });

  readonly lockouts = this.counter({
    name: 'gatepost_lockouts_total',
    help: 'Users locked out after too many failed logins',
    by: 'accounts',
  });

  readonly deliveries = this.counter({
    name: 'gatepost_deliveries_total',
    help: 'Attempts to send mails (mail) and text messages (sms); released: the server was away, which does not count',
    by: 'mail',
    labels: { channel: CHANNELS, outcome: ['sent', 'failed', 'dead', 'dropped', 'released'] },
  });

  readonly deliveriesWaiting = this.gauge({
    name: 'gatepost_deliveries_waiting',
    help: 'Messages that wait to be sent, for the first time (queued) or again (failed); every process tells the same',
    by: 'mail',
    labels: { channel: CHANNELS, status: ['queued', 'failed'] },
  });

  readonly oldestDelivery = this.gauge({
    name: 'gatepost_delivery_oldest_waiting_seconds',
    help: 'Age of the oldest message that waits, 0 where none does; every process tells the same',
    by: 'mail',
    labels: { channel: CHANNELS },
  });

  readonly pushesAccepted = this.counter({
    name: 'gatepost_push_accepted_total',
    help: 'Pushes accepted, scheduled ones included',
    by: 'dispatchers',
    labels: { kind: KINDS_OF_PUSHES },
  });

  readonly pushesWaiting = this.gauge({
    name: 'gatepost_push_waiting',
    help: 'Pushes that are due and whose devices are not all found, 10,000 at most; every process tells the same',
    by: 'dispatchers',
  });

  readonly oldestPush = this.gauge({
    name: 'gatepost_push_oldest_waiting_seconds',
    help: 'For how long the oldest of them has been due, of those that are not slowed by flow control; 0 where there is none',
    by: 'dispatchers',
  });

  readonly pushRuns = this.counter({
    name: 'gatepost_push_runs_total',
    help: 'Pushes worked on; lost to another dispatcher or to a removal, stopped with the process',
    by: 'dispatchers',
    labels: { kind: KINDS_OF_PUSHES, outcome: ['done', 'expired', 'failed', 'lost', 'stopped'] },
  });

  readonly pushDevices = this.counter({
    name: 'gatepost_push_devices_total',
    help: 'Devices of pushes: queued and unreachable as they are found, delivered, overflowed and expired as the records are tallied, 10 minutes later at the earliest',
    by: 'dispatchers',
    labels: { outcome: ['queued', 'unreachable', 'delivered', 'overflowed', 'expired'] },
  });

  readonly pushConnections = this.gauge({
    name: 'gatepost_push_connections',
    help: 'Sockets of devices, by what is spoken on them',
    by: 'connectors',
    labels: { framing: ['gatepost', 'json', 'protobuf', 'base64'] },
  });

  readonly pushConnectionLimit = this.gauge({
    name: 'gatepost_push_connections_limit',
    help: 'Sockets that the process takes',
    by: 'connectors',
  });

  readonly pushConnectionsClosed = this.counter({
    name: 'gatepost_push_connections_closed_total',
    help: 'Sockets of devices that were closed',
    by: 'connectors',
    labels: { code: '[close code](push.md#close-codes); 1006 where nobody said goodbye; `other`' },
  });

  readonly pushLogins = this.counter({
    name: 'gatepost_push_logins_total',
    help: 'Logins of devices that were answered',
    by: 'connectors',
    labels: { outcome: ['ok', 'limited'] },
  });

  readonly pushMessagesSent = this.counter({
    name: 'gatepost_push_messages_sent_total',
    help: 'Messages written to sockets of devices',
    by: 'connectors',
  });

  readonly pushAcknowledgements = this.counter({
    name: 'gatepost_push_acknowledgements_total',
    help: 'Messages that devices have acknowledged (received), and writes of acknowledgements given up because Redis was away for too long (dropped)',
    by: 'connectors',
    labels: { outcome: ['received', 'dropped'] },
  });
}
