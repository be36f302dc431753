import { Module } from '@nestjs/common';

/** The class `_Installation`. */
@Module({})
export class InstallationsModule {}
