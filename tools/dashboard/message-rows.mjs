// Rows for mails and pushes, and their dependencies. Each query is its expression and its legend.
import { of, quantile, rate } from './queries.mjs';

const REDIS = 'gatepost_redis_command_duration_seconds';

export const MESSAGE_ROWS = [
  {
    title: 'Mails and text messages',
    panels: [
      {
        title: 'Attempts to send',
        unit: 'ops',
        queries: [[`sum by (channel, outcome) (${rate('gatepost_deliveries_total')})`, '{{channel}} {{outcome}}']],
      },
      {
        title: 'Messages that wait',
        queries: [[`max by (channel, status) (${of('gatepost_deliveries_waiting')})`, '{{channel}} {{status}}']],
      },
      {
        title: 'Age of the oldest that waits',
        unit: 's',
        queries: [[`max by (channel) (${of('gatepost_delivery_oldest_waiting_seconds')})`, '{{channel}}']],
      },
    ],
  },
  {
    title: 'Push',
    panels: [
      {
        title: 'Pushes',
        unit: 'ops',
        queries: [
          [`sum(${rate('gatepost_push_accepted_total')})`, 'accepted'],
          [`sum by (kind, outcome) (${rate('gatepost_push_runs_total')})`, '{{kind}} {{outcome}}'],
        ],
      },
      {
        title: 'Pushes that wait or are worked on',
        queries: [
          [`max(${of('gatepost_push_waiting')})`, 'pushes'],
          [`max(${of('gatepost_push_oldest_waiting_seconds')})`, 'seconds, the oldest'],
        ],
      },
      {
        title: 'Devices of pushes within an hour',
        help: 'Queued and unreachable as they are found; delivered, overflowed and expired 10 minutes later at the earliest.',
        queries: [[`sum by (outcome) (increase(${of('gatepost_push_devices_total')}[1h]))`, '{{outcome}}']],
      },
      {
        title: 'Devices in channels of vendors',
        unit: 'ops',
        queries: [
          [`sum by (vendor, outcome) (${rate('gatepost_push_vendor_messages_total')})`, '{{vendor}} {{outcome}}'],
        ],
      },
      {
        title: 'Devices that wait for a vendor',
        queries: [
          [`max by (vendor) (${of('gatepost_push_vendor_waiting')})`, '{{vendor}}'],
          [`max by (vendor) (${of('gatepost_push_vendor_oldest_waiting_seconds')})`, '{{vendor}}: seconds, the oldest'],
          [`sum by (vendor) (${of('gatepost_push_vendor_lanes_resting')})`, '{{vendor}}: channels at rest'],
        ],
      },
      {
        title: 'Requests to vendors, p99',
        unit: 's',
        queries: [
          [
            `histogram_quantile(0.99, sum by (vendor, le) (${rate('gatepost_push_vendor_request_seconds_bucket')}))`,
            '{{vendor}}',
          ],
        ],
      },
      {
        title: 'Messages on the wire',
        unit: 'ops',
        queries: [
          [`sum(${rate('gatepost_push_messages_sent_total')})`, 'sent'],
          [`sum by (outcome) (${rate('gatepost_push_acknowledgements_total')})`, 'acknowledgements {{outcome}}'],
        ],
      },
      {
        title: 'Devices connected',
        queries: [[`sum by (framing) (${of('gatepost_push_connections')})`, '{{framing}}']],
      },
      {
        title: 'Connectors, as full as they may be',
        unit: 'percentunit',
        queries: [
          [
            `sum by (job, instance) (${of('gatepost_push_connections')}) / sum by (job, instance) (${of('gatepost_push_connections_limit')})`,
            '{{instance}}',
          ],
        ],
      },
      {
        title: 'Logins of devices',
        unit: 'ops',
        queries: [[`sum by (outcome) (${rate('gatepost_push_logins_total')})`, '{{outcome}}']],
      },
      {
        title: 'Connections closed, by code',
        unit: 'ops',
        queries: [[`sum by (code) (${rate('gatepost_push_connections_closed_total')})`, '{{code}}']],
      },
    ],
  },
  {
    title: 'PostgreSQL and Redis',
    panels: [
      {
        title: 'Connections to PostgreSQL in use',
        help: 'Of those that the pool may open.',
        unit: 'percentunit',
        queries: [
          [
            `max by (pool) (${of('gatepost_database_pool_connections', 'state="used"')} / ignoring (state) ${of('gatepost_database_pool_limit')})`,
            '{{pool}}',
          ],
        ],
      },
      {
        title: 'Statements that wait for a connection',
        queries: [[`sum by (pool) (${of('gatepost_database_pool_waiting')})`, '{{pool}}']],
      },
      {
        title: 'Open connections to PostgreSQL',
        queries: [[`sum by (pool) (${of('gatepost_database_pool_connections')})`, '{{pool}}']],
      },
      {
        title: 'Commands of Redis',
        unit: 'ops',
        queries: [
          [`sum by (job, outcome) (${rate(`${REDIS}_count`)})`, '{{job}} {{outcome}}'],
          [`sum(${of('gatepost_redis_commands_in_flight')})`, 'waiting for an answer now'],
        ],
      },
      {
        title: 'Time to the answer of Redis (99 %)',
        unit: 's',
        queries: [[quantile(0.99, REDIS, 'job'), '{{job}}']],
      },
      {
        title: 'Connected to Redis',
        queries: [[`min by (job) (${of('gatepost_redis_connected')})`, '{{job}}']],
      },
      {
        title: 'Since the last success of periodic jobs',
        help: 'Of the process that succeeded last. Some seconds up to a minute; decades where a job has not succeeded since the start.',
        unit: 's',
        queries: [[`time() - max by (name) (${of('gatepost_job_last_success_timestamp_seconds')})`, '{{name}}']],
      },
    ],
  },
  {
    title: 'Processes',
    panels: [
      {
        title: 'Versions',
        queries: [[`count by (component, version) (${of('gatepost_build_info')})`, '{{component}} {{version}}']],
      },
      {
        title: 'Ready',
        queries: [[`sum by (job) (${of('gatepost_ready')})`, '{{job}}']],
      },
      {
        title: 'Processors',
        help: 'How many each keeps busy.',
        queries: [[rate('process_cpu_seconds_total'), '{{job}} {{instance}}']],
      },
      {
        title: 'Memory',
        unit: 'bytes',
        queries: [[of('process_resident_memory_bytes'), '{{job}} {{instance}}']],
      },
      {
        title: 'Event-loop lag (99 %)',
        unit: 's',
        queries: [[of('nodejs_eventloop_lag_p99_seconds'), '{{job}} {{instance}}']],
      },
      {
        title: 'Garbage collection',
        help: 'Share of the time.',
        unit: 'percentunit',
        queries: [[`sum by (job, instance) (${rate('nodejs_gc_duration_seconds_sum')})`, '{{job}} {{instance}}']],
      },
      {
        title: 'Open files and sockets',
        queries: [[of('process_open_fds'), '{{job}} {{instance}}']],
      },
      {
        title: 'Running for',
        unit: 's',
        queries: [[`time() - ${of('process_start_time_seconds')}`, '{{job}} {{instance}}']],
      },
    ],
  },
];
