export { ApplicationDirectory } from './application.directory.js';
