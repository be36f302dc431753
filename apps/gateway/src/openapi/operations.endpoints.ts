import { z } from 'zod';
import { describeEndpoints } from './endpoint.decorator.js';
import type { RoutedEndpoint } from './routed-endpoints.js';

const { healthz, readyz, metrics } = describeEndpoints('Service', {
  healthz: {
    summary: 'Ask whether the process lives',
    credentials: 'none',
    answers: { 200: { description: 'The process lives.', body: z.object({ status: z.literal('ok') }) } },
    errors: [],
  },
  readyz: {
    summary: 'Ask whether the process can serve',
    credentials: 'none',
    answers: {
      200: { description: 'The process can serve.', body: z.object({ status: z.literal('ready') }) },
      503: {
        description: 'It cannot, or drains.',
        body: z.object({ status: z.literal('unavailable'), problems: z.array(z.string()) }),
        headers: { 'Retry-After': 'Seconds.' },
      },
    },
    errors: [],
  },
  metrics: {
    summary: 'Get the metrics of the process',
    credentials: 'none',
    answers: { 200: { description: "Prometheus' text format.", mediaType: 'text/plain' } },
    errors: [],
  },
});

/** The routes that every process of ours has (libs/observability), as the gateway answers them. */
export const OPERATIONS_ENDPOINTS: readonly RoutedEndpoint[] = [
  { ...healthz, id: 'healthz', method: 'GET', paths: ['/healthz'] },
  { ...readyz, id: 'readyz', method: 'GET', paths: ['/readyz'] },
  { ...metrics, id: 'metrics', method: 'GET', paths: ['/metrics'] },
];
