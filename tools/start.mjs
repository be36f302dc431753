// npm start: the whole server in one process.
import { ensureBuilt } from './prepare.mjs';

const HELP = `Usage: npm start

Runs the whole server in one process with an embedded PostgreSQL. Data: ./data, port: 8080.
Change them with GATEPOST_DATA_DIR and GATEPOST_PORT; every variable stands in deploy/env.example.
`;

if (process.argv.includes('--help')) {
  process.stdout.write(HELP);
} else {
  ensureBuilt();
  await import('../dist/apps/standalone/src/main.js');
}
