import { Controller, Get } from '@nestjs/common';
import { Endpoint } from '../openapi/endpoint.decorator.js';
import { pingEndpoints } from './ping.endpoints.js';

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
