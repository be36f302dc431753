import { Injectable } from '@nestjs/common';
import { Sealer } from '#security';
import type { LoginIdentifier } from '../users/user-identifier.rules.js';
import type { LockoutSubject } from './lockout.types.js';
import { nobodysId } from './nobody.rules.js';

/** Gives names that nobody has a place in the lockout, so that they can be locked like users. */
@Injectable()
export class Nobodies {
  constructor(private readonly sealer: Sealer) {}

  subjectOf(appId: string, identifier: LoginIdentifier, value: string): LockoutSubject {
    const hash = this.sealer.lookupHash(JSON.stringify(['login name', appId, identifier, value]));
    return { appId, userId: nobodysId(hash) };
  }
}
