export { Inbox } from './inbox.js';
export { InboxModule } from './inbox.module.js';
export { OutboxModule } from './outbox.module.js';
export { addOutboxLease, addOutboxOrigin, createInboxTable, createOutboxTables } from './outbox.schema.js';
export { Outbox } from './outbox.writer.js';
