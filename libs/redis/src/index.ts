export { IS_BEHIND, NOW, Redis, RedisModule, RedisScript } from './redis.js';
