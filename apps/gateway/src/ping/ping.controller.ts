import { Controller, Get } from '@nestjs/common';
import { z } from 'zod';
import { describeEndpoints, Endpoint } from '../openapi/endpoint.decorator.js';

const pingEndpoints = describeEndpoints('Service', {
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

/** What SDKs ask of the service itself; open to everyone. */
@Controller('1.1')
export class PingController {
  @Get('ping')
  @Endpoint(pingEndpoints.ping)
  ping(): { status: string } {
    return { status: 'ok' };
  }

  /** The server's time, in the API's Date type. */
  @Get('date')
  @Endpoint(pingEndpoints.date)
  date(): { __type: 'Date'; iso: string } {
    return { __type: 'Date', iso: new Date().toISOString() };
  }
}
