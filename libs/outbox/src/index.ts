/** @public For the first consumer that keeps what it has done in a database. */
export { Inbox } from './inbox.js';
export { OutboxModule } from './outbox.module.js';
export { createOutboxTables } from './outbox.schema.js';
export { Outbox } from './outbox.writer.js';
