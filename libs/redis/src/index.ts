export { IS_BEHIND, Redis, RedisScript } from './redis.js';
export { RedisModule } from './redis.module.js';
