export { ApplicationDirectory } from './application.directory.js';
export { STRANGER_LIMIT_OPTIONS, StrangerLimit, type StrangerLimitOptions } from './stranger-limit.js';
