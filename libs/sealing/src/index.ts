export { Sealer } from './sealer.js';
