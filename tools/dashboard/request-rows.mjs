// Rows for requests. Each query is its expression and its legend.
import { of, quantile, rate } from './queries.mjs';

const HTTP = 'gatepost_http_request_duration_seconds';
const RPC = 'gatepost_rpc_duration_seconds';
const CALL = 'gatepost_rpc_call_duration_seconds';
const PASSWORD = 'gatepost_password_hash_duration_seconds';

export const REQUEST_ROWS = [
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
        queries: [[`topk(10, ${quantile(0.95, HTTP, 'method, route')})`, '{{method}} {{route}}']],
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
        queries: [[`topk(10, ${quantile(0.95, RPC, 'pattern')})`, '{{pattern}}']],
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
        queries: [[quantile(0.95, CALL, 'callee'), '{{callee}}']],
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
        title: 'Outboxes',
        queries: [
          [`max by (schema) (${of('gatepost_outbox_waiting')})`, '{{schema}}, events that wait'],
          [`max by (schema) (${of('gatepost_outbox_oldest_waiting_seconds')})`, '{{schema}}, seconds, the oldest'],
          [`sum by (schema, outcome) (${rate('gatepost_outbox_published_total')})`, '{{schema}} {{outcome}}, a second'],
        ],
      },
      {
        title: 'Connected to the broker',
        queries: [
          [`min by (job) (${of('gatepost_broker_connected')})`, '{{job}}'],
          [`max by (job) (${of('gatepost_broker_blocked')})`, '{{job}}, blocked'],
        ],
      },
      {
        title: 'Bytes that wait in processes for the broker',
        help: 'For a reply, a confirm or the socket. From 64 MiB on, a process refuses more.',
        unit: 'bytes',
        queries: [[`max by (job) (${of('gatepost_broker_pending_bytes')})`, '{{job}}']],
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
];
