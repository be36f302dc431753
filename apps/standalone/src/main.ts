import { loadConfig, run } from '#bootstrap';
import { standaloneEnvironment, startStandalone } from './standalone.js';

await run(() => startStandalone(loadConfig(standaloneEnvironment, process.env)));
