import { Database, type DatabaseOptions } from '#database';
import { AuditEntity } from './audit/audit.entity.js';
import { CreateConsole1796790000000 } from './migrations/1796790000000-create-console.js';
import { AttemptsEntity, GrantEntity, LinkEntity, OperatorEntity, SessionEntity } from './operators/operator.entity.js';

/** A class of its own, so that one process can inject the databases of several services. */
export class ConsoleDatabase extends Database {}

/** The schema and migrations, for `gatepost migrate` and for the service. */
export function consoleDatabase(url: string, poolSize: number): DatabaseOptions {
  return {
    url,
    poolSize,
    schema: 'console',
    applicationName: 'gatepost-console',
    entities: [AttemptsEntity, AuditEntity, GrantEntity, LinkEntity, OperatorEntity, SessionEntity],
    migrations: [CreateConsole1796790000000],
  };
}
