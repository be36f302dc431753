export { SealedRows, type SealedTable } from './sealed-rows.js';
export { Sealer, sealerOf, weaknessOf } from './sealer.js';
export { importedBcryptHash, leancloudHash } from './imported-password.mjs';
