import { Injectable } from '@nestjs/common';

/** The current time; tests inject their own. */
@Injectable()
export class Clock {
  now(): Date {
    return new Date();
  }
}
