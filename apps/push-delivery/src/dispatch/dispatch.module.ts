import { Module } from '@nestjs/common';

/** Finds the devices that a push is for, and puts it into their queues. */
@Module({})
export class DispatchModule {}
