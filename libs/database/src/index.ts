export {
  type DatabaseOptions,
  /** @internal For a test. */
  SnakeNames,
} from './data-source.js';
export { Database, type Queryable, registerPoolMetrics, type Tx, type SqlExecutor } from './database.js';
export { DatabaseModule } from './database.module.js';
export {
  isInterrupted,
  isRefusedPattern,
  isStatementTimeout,
  isUnreached,
  violatedForeignKey,
  violatedUniqueConstraint,
} from './driver-error.js';
export {
  columnsOf,
  insertManyStatement,
  insertStatement,
  SealedCredentialColumns,
  selectList,
  TimeColumn,
  updateManyStatement,
  updateStatement,
} from './entity-columns.js';
export {
  addOutboxLease,
  addOutboxOrigin,
  createInboxTable,
  createOutboxTables,
  Inbox,
  InboxMessageEntity,
  InboxModule,
  Outbox,
  OUTBOX_ENTITIES,
  OutboxModule,
} from './outbox.js';
export { ForwardMigration, indexesBesideTraffic, migrate, migrationStatus } from './migrate.js';
export { ClaimingWorker, cleanUp, CleanupJob, PollingWorker } from './polling-worker.js';
export { combineStatements, endOfPrefix, type Statement, UNESTIMATED_APP } from './statement.js';
