// What the dashboard shows, row by row. `of` filters by what is chosen above; each query is its expression and its legend.
const of = (name, matchers = '') => `${name}{job=~"$job", instance=~"$instance"${matchers && `, ${matchers}`}}`;
const rate = (name, matchers) => `rate(${of(name, matchers)}[$__rate_interval])`;
const quantile = (q, name, { by = '', matchers } = {}) =>
  `histogram_quantile(${q}, sum by (le${by && `, ${by}`}) (${rate(`${name}_bucket`, matchers)}))`;

const HTTP = 'gatepost_http_request_duration_seconds';
const RPC = 'gatepost_rpc_duration_seconds';
const CALL = 'gatepost_rpc_call_duration_seconds';
const REDIS = 'gatepost_redis_command_duration_seconds';
const PASSWORD = 'gatepost_password_hash_duration_seconds';

export const ROWS = [
  {
    title: 'First of all',
    panels: [
      { kind: 'stat', title: 'Requests', unit: 'reqps', queries: [[`sum(${rate(`${HTTP}_count`)})`, '']] },
      {
        kind: 'stat',
        title: 'Requests that fail',
        help: 'Share of the requests that are answered with 5xx.',
        unit: 'percentunit',
        warnAt: 0.001,
        queries: [
          [`(sum(${rate(`${HTTP}_count`, 'status=~"5.."')}) or vector(0)) / sum(${rate(`${HTTP}_count`)})`, ''],
        ],
      },
      {
        kind: 'stat',
        title: 'Slowest requests',
        help: '99th percentile.',
        unit: 's',
        warnAt: 1,
        queries: [[quantile(0.99, HTTP), '']],
      },
      {
        kind: 'stat',
        title: 'Passwords that wait',
        warnAt: 1,
        queries: [[`sum(${of('gatepost_password_queue_length')})`, '']],
      },
      {
        kind: 'stat',
        title: 'Oldest mail',
        unit: 's',
        warnAt: 600,
        queries: [[`max(${of('gatepost_delivery_oldest_waiting_seconds')})`, '']],
      },
      {
        kind: 'stat',
        title: 'Oldest push',
        unit: 's',
        warnAt: 300,
        queries: [[`max(${of('gatepost_push_oldest_waiting_seconds')})`, '']],
      },
      {
        kind: 'stat',
        title: 'Dead letters',
        warnAt: 1,
        queries: [
          [`sum(max by (queue) (${of('gatepost_broker_queue_messages', 'queue=~"events\\\\..+\\\\.dead"')}))`, ''],
        ],
      },
      {
        kind: 'stat',
        title: 'Not ready',
        help: 'Processes whose /readyz says that they cannot serve.',
        warnAt: 1,
        queries: [[`count(${of('gatepost_ready')} == 0) or vector(0)`, '']],
      },
      {
        kind: 'stat',
        title: 'Devices connected',
        queries: [[`sum(${of('gatepost_push_connections')})`, '']],
      },
    ],
  },
  {
    title: 'Traffic',
    panels: [
      {
        title: 'Requests by status',
        unit: 'reqps',
        queries: [[`sum by (status) (${rate(`${HTTP}_count`)})`, '{{status}}']],
      },
      {
        title: 'Time to the answer',
        unit: 's',
        queries: [
          [quantile(0.5, HTTP), 'half of them'],
          [quantile(0.95, HTTP), '95 %'],
          [quantile(0.99, HTTP), '99 %'],
        ],
      },
      {
        title: 'Routes by requests',
        unit: 'reqps',
        queries: [[`topk(10, sum by (method, route) (${rate(`${HTTP}_count`)}))`, '{{method}} {{route}}']],
      },
      {
        title: 'Slowest routes (95 %)',
        unit: 's',
        queries: [[`topk(10, ${quantile(0.95, HTTP, { by: 'method, route' })})`, '{{method}} {{route}}']],
      },
      {
        title: 'Requests refused by limits',
        help: 'By group of the limit; and requests that gateways counted alone, because Redis was away.',
        unit: 'reqps',
        queries: [
          [`sum by (group) (${rate('gatepost_rate_limited_total')})`, '{{group}}'],
          [`sum(${rate('gatepost_rate_limit_fallbacks_total')})`, 'counted alone'],
        ],
      },
    ],
  },
  {
    title: 'Between services',
    panels: [
      {
        title: 'Slowest RPCs at the service (95 %)',
        unit: 's',
        queries: [[`topk(10, ${quantile(0.95, RPC, { by: 'pattern' })})`, '{{pattern}}']],
      },
      {
        title: 'RPCs answered with an error',
        help: 'Most are mistakes of clients, such as a wrong password.',
        unit: 'reqps',
        queries: [
          [`topk(10, sum by (pattern, outcome) (${rate(`${RPC}_count`, 'outcome!="ok"')}))`, '{{pattern}} {{outcome}}'],
        ],
      },
      {
        title: 'Time to the answer for those who ask (95 %)',
        help: 'With the way over the broker and back.',
        unit: 's',
        queries: [[quantile(0.95, CALL, { by: 'callee' }), '{{callee}}']],
      },
      {
        title: 'Questions without an answer',
        unit: 'reqps',
        queries: [
          [`sum by (callee, outcome) (${rate(`${CALL}_count`, 'outcome!="answered"')})`, '{{callee}} {{outcome}}'],
        ],
      },
      {
        title: 'Messages that wait at the broker',
        queries: [[`max by (queue) (${of('gatepost_broker_queue_messages')})`, '{{queue}}']],
      },
      {
        title: 'Events handled',
        unit: 'ops',
        queries: [[`sum by (job, outcome) (${rate('gatepost_events_handled_total')})`, '{{job}} {{outcome}}']],
      },
      {
        title: 'Outbox of accounts',
        queries: [
          [`max(${of('gatepost_outbox_waiting')})`, 'events that wait'],
          [`max(${of('gatepost_outbox_oldest_waiting_seconds')})`, 'seconds, the oldest'],
          [`sum by (outcome) (${rate('gatepost_outbox_published_total')})`, '{{outcome}}, a second'],
        ],
      },
      {
        title: 'Connected to the broker',
        queries: [[`min by (job) (${of('gatepost_broker_connected')})`, '{{job}}']],
      },
    ],
  },
  {
    title: 'Accounts',
    panels: [
      {
        title: 'Passwords that wait',
        queries: [[of('gatepost_password_queue_length'), '{{instance}}']],
      },
      {
        title: 'Time for a password',
        help: 'Hashing or comparing it, waiting included.',
        unit: 's',
        queries: [
          [quantile(0.5, PASSWORD), 'half of them'],
          [quantile(0.99, PASSWORD), '99 %'],
        ],
      },
      {
        title: 'Passwords',
        unit: 'ops',
        queries: [
          [`sum(${rate(`${PASSWORD}_count`)})`, 'hashed'],
          [`sum(${rate('gatepost_passwords_refused_total')})`, 'refused'],
        ],
      },
      {
        title: 'Users locked out within an hour',
        queries: [[`sum(increase(${of('gatepost_lockouts_total')}[1h]))`, 'lockouts']],
      },
    ],
  },
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
          [`sum by (kind) (${rate('gatepost_push_accepted_total')})`, '{{kind}} accepted'],
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
        queries: [[quantile(0.99, REDIS, { by: 'job' }), '{{job}}']],
      },
      {
        title: 'Connected to Redis',
        queries: [[`min by (job) (${of('gatepost_redis_connected')})`, '{{job}}']],
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
