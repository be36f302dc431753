export { CONNECTION_TIMES } from './connection-times.js';
export { run, type RunningProcess, StartError } from './run.js';
export {
  brokerEnvironment,
  overRabbit,
  type RunningService,
  serviceEnvironment,
  startService,
} from './start-service.js';
