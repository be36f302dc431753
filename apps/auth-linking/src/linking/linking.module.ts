import { Module } from '@nestjs/common';
import { ApplicationDirectory } from '#admission';
import { CredentialsModule } from '../credentials/credentials.module.js';
import { PlatformHttp } from '../platforms/platform-http.js';
import { PlatformVerifiers } from '../platforms/platform-verifiers.js';
import { LinkingController } from './linking.controller.js';
import { LinkingService } from './linking.service.js';
import { ProofService } from './proof.service.js';

/** The requests that contain `authData`. */
@Module({
  imports: [CredentialsModule],
  controllers: [LinkingController],
  providers: [ApplicationDirectory, LinkingService, PlatformHttp, PlatformVerifiers, ProofService],
})
export class LinkingModule {}
