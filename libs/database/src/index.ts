export { tellPool } from './tell-pool.js';
export type { DatabaseOptions } from './database-options.js';
export { DatabaseModule } from './database.module.js';
export { Database, type Queryable, type Tx, type Writable } from './database.js';
export { isRefusedPattern, isStatementTimeout, violatedForeignKey, violatedUniqueConstraint } from './driver-error.js';
export { migrate, migrationStatus } from './migrate.js';
export { type Statement, together } from './statement.js';
