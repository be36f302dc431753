export { IS_BEHIND, NOW, Redis, RedisScript } from './redis.js';
export { RedisModule } from './redis.module.js';
