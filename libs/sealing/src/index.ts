export { Sealer } from './sealer.js';
export { sealerOf } from './sealer-of.js';
export { weaknessOf } from './weakness.js';
