import { Controller, Get, HttpCode, HttpStatus, Post } from '@nestjs/common';
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

const nothing = { 200: { description: 'An empty object.', body: z.object({}) } };

const statisticsEndpoints = describeEndpoints('Service', {
  collect: {
    summary: 'Accept the statistics of an SDK',
    description: 'Shipped apps send them. Nothing is stored.',
    credentials: 'application',
    body: z.looseObject({}),
    answers: nothing,
    errors: [],
  },
  sendPolicy: {
    summary: 'Get when an SDK sends statistics',
    description: 'Shipped apps ask for it. The empty policy leaves the decision to the SDK.',
    credentials: 'application',
    answers: nothing,
    errors: [],
  },
});

/** Requests that SDKs of shipped apps send without the app's doing; an error would make some of them try again and again. */
@Controller('1.1')
export class StatisticsController {
  @Post(['stats/collect', 'always_collect'])
  @HttpCode(HttpStatus.OK)
  @Endpoint(statisticsEndpoints.collect)
  collect(): object {
    return {};
  }

  @Get('statistics/apps/:appId/sendPolicy')
  @Endpoint(statisticsEndpoints.sendPolicy)
  sendPolicy(): object {
    return {};
  }
}
