// npm start: the whole server in one process.
import { ensureBuilt, fail } from './prepare.mjs';

const HELP = `Usage: npm start

Runs the whole server in one process with an embedded PostgreSQL. Data: ./data, port: 8080.
Change them with GATEPOST_DATA_DIR and GATEPOST_PORT; every variable stands in deploy/env.example.
`;

const given = process.argv.slice(2);
if (given.includes('--help')) {
  process.stdout.write(HELP);
} else {
  if (given.length > 0)
    fail(`npm start takes no arguments, but got ${given.join(' ')}. Set variables, such as GATEPOST_PORT: see --help.`);
  ensureBuilt();
  await import('../dist/apps/standalone/src/main.js');
}
