export { ARRIVAL_TIMES } from './arrival-times.js';
export { PeriodicJob } from './periodic-job.js';
export { run, type RunningProcess, StartError } from './run.js';
export {
  brokerEnvironment,
  overRabbit,
  type RunningService,
  serviceEnvironment,
  startService,
} from './start-service.js';
