import { loadConfig, run } from '#bootstrap';
import { standaloneEnvironment } from './services.js';
import { startStandalone } from './standalone.js';

await run(() => startStandalone(loadConfig(standaloneEnvironment, process.env)));
