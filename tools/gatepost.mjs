// npm run gatepost: the operator's command line.
import { ensureBuilt } from './prepare.mjs';

ensureBuilt();
await import('../dist/apps/cli/src/main.js');
