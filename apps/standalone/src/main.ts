import { loadConfig, run } from '#bootstrap';
import { standaloneEnvironment } from './standalone.config.js';
import { startStandalone } from './standalone.js';

await run(() => startStandalone(loadConfig(standaloneEnvironment, process.env)));
