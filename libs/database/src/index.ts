export type { DatabaseOptions } from './data-source.js';
export { DatabaseModule } from './database.module.js';
export { Database, type Queryable, type Tx } from './database.js';
export { violatedUniqueConstraint } from './driver-error.js';
export { migrate } from './migrate.js';
