export { RedisModule } from './redis.module.js';
export { RedisScript } from './redis-script.js';
export { Redis } from './redis.js';
