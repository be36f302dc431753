import { Controller, Get } from '@nestjs/common';
import { z } from 'zod';
import { describeEndpoints, Endpoint } from '../openapi/endpoint.decorator.js';

const pingEndpoints = describeEndpoints('Service', {
  ping: {
    summary: 'Check that the API responds',
    credentials: 'none',
    answers: { 200: { description: 'The API responds.', body: z.object({ status: z.literal('ok') }) } },
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

/** Checks of the service by SDKs; they need no credentials. */
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
