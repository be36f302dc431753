export { chunksOf, groupedBy, TtlCache } from './collections.js';
export { ConcurrencyLimiter } from './concurrency-limiter.js';
export {
  type GroupRole,
  LOOPBACK_HOSTS,
  NAMED_NETWORKS,
  NetworkList,
  parseRedisUrl,
  type RedisServers,
  Secret,
} from './environment-values.js';
export {
  baseUrlsOf,
  brokerFindings,
  deploymentFindings,
  type Finding,
  isLocal,
  missingReplicas,
  quoted,
  secretFindings,
  versionFindings,
} from './deployment-findings.js';
export { environment } from './environment.js';
export { asJsonObject, destroySoon, fromHttp, JSON_TYPE, parseJson, parseJsonBody } from './http.js';
export {
  ConfigError,
  isSocketPathTooLong,
  listenProblem,
  loadConfig,
  operatorSocketPath,
  run,
  type RunningProcess,
  StartError,
} from './run.js';
export { Clock, PeriodicJob } from './periodic-job.js';
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
