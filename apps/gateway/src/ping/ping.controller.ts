import { Controller, Get } from '@nestjs/common';

/** What SDKs ask of the service itself; open to everyone. */
@Controller('1.1')
export class PingController {
  @Get('ping')
  ping(): { status: string } {
    return { status: 'ok' };
  }

  /** The server's time, in the API's Date type. */
  @Get('date')
  date(): { __type: 'Date'; iso: string } {
    return { __type: 'Date', iso: new Date().toISOString() };
  }
}
