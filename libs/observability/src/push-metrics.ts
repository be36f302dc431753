import { MetricCatalogue } from './metric-catalogue.js';

const VENDORS = ['apns', 'fcm', 'huawei', 'honor', 'xiaomi', 'oppo', 'vivo', 'meizu', 'web-push'];
/** Bucket bounds for requests to vendors, which are far away and answer within 20 s. */
const VENDOR_BUCKETS_SECONDS = [0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.25, 0.5, 1, 2.5, 5, 10, 20];

export abstract class PushMetrics extends MetricCatalogue {
  readonly pushesAccepted = this.counter({
    name: 'gatepost_push_accepted_total',
    help: 'Pushes accepted, scheduled ones included',
    by: 'dispatchers',
  });

  readonly pushesWaiting = this.gauge({
    name: 'gatepost_push_waiting',
    help: 'Due pushes whose devices have not all been found, counted up to 10,000',
    by: 'dispatchers',
  });

  readonly oldestPush = this.gauge({
    name: 'gatepost_push_oldest_waiting_seconds',
    help: 'Time since the oldest of these pushes was due, pushes slowed by flow control excluded; 0 where there is none',
    by: 'dispatchers',
  });

  readonly pushRuns = this.counter({
    name: 'gatepost_push_runs_total',
    help: 'Runs of pushes; lost: another dispatcher took over or the push was removed; stopped: the process stopped',
    by: 'dispatchers',
    labels: { kind: ['small', 'large'], outcome: ['done', 'expired', 'failed', 'lost', 'stopped'] },
  });

  readonly pushDevices = this.counter({
    name: 'gatepost_push_devices_total',
    help: 'Devices of pushes: queued, vendor (taken by the channel of a vendor) and unreachable when the devices are found; delivered, overflowed and expired at least 10 minutes later',
    by: 'dispatchers',
    labels: { outcome: ['queued', 'unreachable', 'delivered', 'overflowed', 'expired', 'vendor'] },
  });

  readonly vendorMessages = this.counter({
    name: 'gatepost_push_vendor_messages_total',
    help: 'Settled devices of pushes in channels of vendors; retried: attempts without a result',
    by: 'senders',
    labels: { vendor: VENDORS, outcome: ['accepted', 'invalid', 'rejected', 'expired', 'retried'] },
  });

  readonly vendorWaiting = this.gauge({
    name: 'gatepost_push_vendor_waiting',
    help: 'Devices of pushes that wait for a sender',
    by: 'senders',
    labels: { vendor: VENDORS },
  });

  readonly vendorOldest = this.gauge({
    name: 'gatepost_push_vendor_oldest_waiting_seconds',
    help: 'Time since the oldest of these devices was due, 0 where there is none',
    by: 'senders',
    labels: { vendor: VENDORS },
  });

  readonly vendorLanes = this.gauge({
    name: 'gatepost_push_vendor_lanes',
    help: 'Channels of applications that an operator has paused, or whose vendor calls so many tokens invalid that none is removed',
    by: 'senders',
    labels: { vendor: VENDORS, state: ['paused', 'doubted'] },
  });

  readonly vendorLanesResting = this.gauge({
    name: 'gatepost_push_vendor_lanes_resting',
    help: 'Channels of applications to which this process sends nothing for a while: their vendor fails, asks for a pause, or refuses the credentials',
    by: 'senders',
    labels: { vendor: VENDORS },
  });

  readonly vendorRequests = this.histogram({
    name: 'gatepost_push_vendor_request_seconds',
    help: 'Time of a request to the push service of a vendor',
    by: 'senders',
    buckets: VENDOR_BUCKETS_SECONDS,
    labels: { vendor: VENDORS },
  });

  readonly pushConnections = this.gauge({
    name: 'gatepost_push_connections',
    help: 'Sockets of devices',
    by: 'connectors',
    labels: { framing: ['gatepost', 'json', 'protobuf', 'base64'] },
  });

  readonly pushConnectionLimit = this.gauge({
    name: 'gatepost_push_connections_limit',
    help: 'Maximum number of sockets of the process',
    by: 'connectors',
  });

  readonly pushConnectionsClosed = this.counter({
    name: 'gatepost_push_connections_closed_total',
    help: 'Sockets of devices that were closed',
    by: 'connectors',
    labels: {
      code: '[close code](push.md#close-codes); 1006 where the connection was lost without a close frame; `other`',
    },
  });

  readonly pushLogins = this.counter({
    name: 'gatepost_push_logins_total',
    help: 'Answered device logins',
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
    help: 'Messages that devices have acknowledged; dropped: Redis was unavailable for too long to record it',
    by: 'connectors',
    labels: { outcome: ['received', 'dropped'] },
  });
}
