import { run } from '#bootstrap';
import { loadConfig } from '#config';
import { startStandalone } from './standalone.js';
import { standaloneEnvironment } from './standalone.config.js';

await run(() => startStandalone(loadConfig(standaloneEnvironment, process.env)));
