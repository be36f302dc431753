import { Module } from '@nestjs/common';
import { PlatformHttp } from './platform-http.js';
import { PlatformVerifiers } from './platform-verifiers.js';

/** The platforms that confirm accounts, and the one way out to them. */
@Module({
  providers: [PlatformHttp, PlatformVerifiers],
  exports: [PlatformVerifiers],
})
export class PlatformsModule {}
