import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';

const LATENCY_BUCKETS_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** The metrics of one process. Every name stands here and nowhere else. */
export class Metrics {
  readonly registry = new Registry();

  readonly httpRequests = new Histogram({
    name: 'gatepost_http_request_duration_seconds',
    help: 'HTTP requests answered, by method, route and status',
    labelNames: ['method', 'route', 'status'] as const,
    buckets: LATENCY_BUCKETS_SECONDS,
    registers: [this.registry],
  });

  readonly rpcHandled = new Counter({
    name: 'gatepost_rpc_handled_total',
    help: 'RPCs answered by this service, by pattern and outcome (ok or the error name)',
    labelNames: ['pattern', 'outcome'] as const,
    registers: [this.registry],
  });

  readonly passwordQueue = new Gauge({
    name: 'gatepost_password_queue_length',
    help: 'Passwords waiting to be hashed',
    registers: [this.registry],
  });

  readonly lockouts = new Counter({
    name: 'gatepost_lockouts_total',
    help: 'Users locked out after too many failed logins',
    registers: [this.registry],
  });

  readonly rateLimited = new Counter({
    name: 'gatepost_rate_limited_total',
    help: 'Requests refused because there were too many, by group',
    labelNames: ['group'] as const,
    registers: [this.registry],
  });

  readonly rateLimitFallbacks = new Counter({
    name: 'gatepost_rate_limit_fallbacks_total',
    help: 'Requests counted by this process alone, because Redis was away',
    registers: [this.registry],
  });

  readonly outboxPublished = new Counter({
    name: 'gatepost_outbox_published_total',
    help: 'Events handed to the broker by the outbox relay, by outcome (ok or failed)',
    labelNames: ['outcome'] as const,
    registers: [this.registry],
  });

  readonly deliveries = new Counter({
    name: 'gatepost_deliveries_total',
    help: 'Attempts to send mails (mail) and text messages (sms), by outcome (sent, failed, dead, dropped or released)',
    labelNames: ['channel', 'outcome'] as const,
    registers: [this.registry],
  });

  readonly oldestDelivery = new Gauge({
    name: 'gatepost_delivery_oldest_waiting_seconds',
    help: 'Age of the oldest mail (mail) or text message (sms) that waits to be sent',
    labelNames: ['channel'] as const,
    registers: [this.registry],
  });

  readonly pushRuns = new Counter({
    name: 'gatepost_push_runs_total',
    help: 'Pushes worked on, by kind (single or bulk) and outcome (done, expired, failed, lost or stopped)',
    labelNames: ['kind', 'outcome'] as const,
    registers: [this.registry],
  });

  readonly pushConnections = new Gauge({
    name: 'gatepost_push_connections',
    help: 'Sockets of devices, by framing (gatepost, json, protobuf or base64)',
    labelNames: ['framing'] as const,
    registers: [this.registry],
  });

  readonly pushConnectionsClosed = new Counter({
    name: 'gatepost_push_connections_closed_total',
    help: 'Sockets of devices that were closed, by close code',
    labelNames: ['code'] as const,
    registers: [this.registry],
  });

  readonly pushLogins = new Counter({
    name: 'gatepost_push_logins_total',
    help: 'Logins of devices, by outcome (ok or limited)',
    labelNames: ['outcome'] as const,
    registers: [this.registry],
  });

  readonly pushMessagesSent = new Counter({
    name: 'gatepost_push_messages_sent_total',
    help: 'Messages written to sockets of devices',
    registers: [this.registry],
  });

  readonly pushAcknowledgements = new Counter({
    name: 'gatepost_push_acknowledgements_total',
    help: 'Messages that devices have acknowledged, by outcome (received, or dropped where the store was away for too long)',
    labelNames: ['outcome'] as const,
    registers: [this.registry],
  });

  constructor() {
    // Sampled every 5 ms: the default of 10 hides short stalls.
    collectDefaultMetrics({ register: this.registry, eventLoopMonitoringPrecision: 5 });
  }
}
