export { Sealer } from './sealer.js';
export { sealerOf, weaknessOf } from './sealer-of.js';
