import { setFlagsFromString } from 'node:v8';
import { loadConfig, run } from '#bootstrap';
import { standaloneEnvironment } from './standalone.config.js';
import { startStandalone } from './standalone.js';

// By default, garbage grows to about four times the live memory before V8 collects it: an import would take 430 MB (ADR 33).
setFlagsFromString('--heap-growing-percent=50');
await run(() => startStandalone(loadConfig(standaloneEnvironment, process.env)));
