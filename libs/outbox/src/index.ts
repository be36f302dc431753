/** @public As EventHandler of libs/messaging. */
export { Inbox } from './inbox.js';
export { OutboxModule } from './outbox.module.js';
export { createOutboxTables } from './outbox.schema.js';
export { Outbox } from './outbox.writer.js';
