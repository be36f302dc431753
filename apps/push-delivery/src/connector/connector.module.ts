import { Module } from '@nestjs/common';

/** The connections of devices. */
@Module({})
export class ConnectorModule {}
