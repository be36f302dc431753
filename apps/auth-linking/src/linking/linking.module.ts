import { Module } from '@nestjs/common';
import { ApplicationDirectory } from '#admission';
import { CredentialsModule } from '../credentials/credentials.module.js';
import { PlatformsModule } from '../platforms/platforms.module.js';
import { LinkingController } from './linking.controller.js';
import { LinkingService } from './linking.service.js';
import { ProofService } from './proof.service.js';

/** The requests that bring `authData`. */
@Module({
  imports: [CredentialsModule, PlatformsModule],
  controllers: [LinkingController],
  providers: [ApplicationDirectory, LinkingService, ProofService],
})
export class LinkingModule {}
