import { Module } from '@nestjs/common';
import { RetentionJob } from './retention.job.js';
import { RetentionRepository } from './retention.repository.js';

/** How long the mail service remembers. */
@Module({ providers: [RetentionJob, RetentionRepository] })
export class RetentionModule {}
