export { run, type RunningProcess, StartError } from './run.js';
export {
  brokerEnvironment,
  overRabbit,
  type RunningService,
  serviceEnvironment,
  startService,
} from './start-service.js';
