export { randomDigits, SealedCredentials, Sealer, sealerOf } from './sealer.js';
export { type SealedTable, sealingController } from './sealed-rows.js';
export { importedBcryptHash, leancloudHash } from './imported-password.mjs';
