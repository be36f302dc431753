export { isSocketPathTooLong, operatorSocketPath } from './data-directory.js';
export { environment } from './environment.js';
export { ConfigError, loadConfig } from './load-config.js';
export { parseRedisUrl, type RedisServers } from './redis-url.js';
export { Secret } from './secret.js';
