import { Injectable } from '@nestjs/common';
import { IdentitiesRepository, type IdentityCount } from './identities.repository.js';

/** What operators ask about the platforms that users come from. */
@Injectable()
export class IdentityReportService {
  constructor(private readonly identities: IdentitiesRepository) {}

  count(appId: string): Promise<IdentityCount[]> {
    return this.identities.count(appId);
  }
}
