import { z } from 'zod';
import { describeEndpoints } from '../openapi/endpoint.decorator.js';

export const pingEndpoints = describeEndpoints('Service', {
  ping: {
    summary: 'Ask whether the API answers',
    credentials: 'none',
    answers: { 200: { description: 'The API answers.', body: z.object({ status: z.literal('ok') }) } },
    errors: [],
  },
  date: {
    summary: "Get the server's time",
    credentials: 'none',
    answers: {
      200: {
        description: "The time, in the API's Date type.",
        body: z.object({ __type: z.literal('Date'), iso: z.iso.datetime() }),
      },
    },
    errors: [],
  },
});
