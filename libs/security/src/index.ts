export { SealedCredentials } from './sealed-credentials.js';
export { type SealedTable, sealingController } from './sealed-rows.js';
export { Sealer, sealerOf } from './sealer.js';
export { importedBcryptHash, leancloudHash } from './imported-password.mjs';
