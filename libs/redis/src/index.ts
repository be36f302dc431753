export { RedisModule } from './redis.module.js';
export { IS_BEHIND, RedisScript } from './redis-script.js';
export { Redis } from './redis.js';
