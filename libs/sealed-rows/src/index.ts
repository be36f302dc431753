export { SealedRows } from './sealed-rows.js';
export type { SealedTable } from './sealed-table.js';
