import { Database, type DatabaseOptions } from '#database';
import { AuditEntity } from './audit/audit.entity.js';
import * as migrations from './migrations/0.1.0-console.js';
import {
  AttemptsEntity,
  ChallengeEntity,
  GrantEntity,
  LinkEntity,
  OneTimeCodesEntity,
  OperatorEntity,
  PasskeyEntity,
  RecoveryCodeEntity,
  SavedViewEntity,
  SessionEntity,
  TestDeviceEntity,
} from './operators/operator.entity.js';

/** A class of its own, so that one process can inject the databases of several services. */
export class ConsoleDatabase extends Database {}

export function consoleDatabase(url: string, poolSize: number): DatabaseOptions {
  return {
    url,
    poolSize,
    schema: 'console',
    applicationName: 'gatepost-console',
    entities: [
      AttemptsEntity,
      AuditEntity,
      ChallengeEntity,
      GrantEntity,
      LinkEntity,
      OneTimeCodesEntity,
      OperatorEntity,
      PasskeyEntity,
      RecoveryCodeEntity,
      SavedViewEntity,
      SessionEntity,
      TestDeviceEntity,
    ],
    migrations: Object.values(migrations),
  };
}
