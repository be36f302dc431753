export { ConcurrencyLimiter } from './concurrency-limiter.js';
export { Clock } from './diagnostics.js';
export type { GroupRole } from './environment-schemas.js';
export { LOOPBACK_HOSTS, parseRedisUrl, type RedisServers, Secret } from './environment-values.js';
export { environment } from './environment.js';
export { fromHttp } from './http-errors.js';
export { asJsonObject, JSON_TYPE, parseJson, parseJsonBody } from './json-body.js';
export { ConfigError, isSocketPathTooLong, loadConfig, operatorSocketPath } from './load-config.js';
export { PeriodicJob } from './periodic-job.js';
export { TtlCache } from './ttl-cache.js';
export { run, type RunningProcess, StartError } from './run.js';
export {
  ARRIVAL_TIMES,
  brokerEnvironment,
  /** @internal For libs/testing. */
  connect,
  overRabbit,
  packageVersion,
  type RunningService,
  /** @internal For libs/testing. */
  serve,
  serviceEnvironment,
  /** @internal For libs/testing. */
  serviceModule,
  type ServiceOptions,
  startListener,
  startService,
} from './start-service.js';
