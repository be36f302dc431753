import { Database, type DatabaseOptions } from '#database';
import { AuditEntity } from './audit/audit.entity.js';
import {
  AddOidc1796810000000,
  AddSecondFactors1796800000000,
  AddTestDevices1796830000000,
  CreateConsole1796790000000,
  FindEachTarget1796840000000,
  NameSignedInOperators1796820000000,
} from './migrations/0.1.0-console.js';
import {
  AttemptsEntity,
  ChallengeEntity,
  GrantEntity,
  LinkEntity,
  OneTimeCodesEntity,
  OperatorEntity,
  PasskeyEntity,
  RecoveryCodeEntity,
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
      SessionEntity,
      TestDeviceEntity,
    ],
    migrations: [
      CreateConsole1796790000000,
      AddSecondFactors1796800000000,
      AddOidc1796810000000,
      NameSignedInOperators1796820000000,
      AddTestDevices1796830000000,
      FindEachTarget1796840000000,
    ],
  };
}
