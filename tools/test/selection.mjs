// Which test files a run selects, which parts they need, and which of them cannot run without the parts that are missing.
import { spawnSync } from 'node:child_process';
import { join, relative } from 'node:path';
import { ROOT } from '../prepare.mjs';
import { needsOf } from './needs.mjs';
import { PARTS } from './parts.mjs';

/** The needs of "npm run test:previous": journeys over the services, with pages. */
const PREVIOUS = { file: 'npm run test:previous', needs: ['postgresql', 'redis', 'rabbitmq', 'browser'], uses: [] };

/**
 * The files that the arguments of vitest select, each with its needs.
 * @throws Error if vitest does not accept the arguments
 */
export function select(vitestArguments, { withPrevious }) {
  const vitest = join(ROOT, 'node_modules', 'vitest', 'vitest.mjs');
  // Last: a file name after it would be taken for the file to write.
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [vitest, 'list', '--filesOnly', ...vitestArguments, '--json'],
    { cwd: ROOT, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 },
  );
  if (status !== 0) throw new Error(`The test files could not be listed:\n${stdout}${stderr}`);
  const files = JSON.parse(stdout.slice(stdout.indexOf('['))).map(({ file }) =>
    relative(ROOT, file).replaceAll('\\', '/'),
  );
  const selected = files.map((file) => ({ file, ...needsOf(file) }));
  return withPrevious ? [...selected, PREVIOUS] : selected;
}

/** All parts that are needed or used. */
export function partsOf(selected) {
  return [...new Set(selected.flatMap(({ needs, uses }) => [...needs, ...uses]))];
}

/**
 * The tests left out because of missing parts: `whole` files, and suites of files that run `inPart`; each with the parts that it lacks.
 */
export function leftOut(selected, missing) {
  const lacking = (parts) => parts.filter((part) => missing.has(part));
  const whole = selected.filter(({ needs }) => lacking(needs).length > 0);
  const rest = selected.filter((one) => !whole.includes(one) && lacking(one.uses).length > 0);
  return {
    whole: whole.map(({ file, needs }) => ({ file, lacks: lacking(needs) })),
    inPart: rest.map(({ file, uses }) => ({ file, lacks: lacking(uses) })),
  };
}

/** Whether the release before can be run. */
export function isPreviousLeftOut({ whole }) {
  return whole.some(({ file }) => file === PREVIOUS.file);
}

/** Lines that say which parts are missing, why, and how to get them. */
export function missingLines(missing) {
  return [...missing].map(
    ([part, why]) => `${PARTS[part].name} is missing: ${why}. To have it: ${PARTS[part].remedy}.`,
  );
}

/** Lines that name everything that was not run, and why. */
export function leftOutLines({ whole, inPart }, missing) {
  if (missing.size === 0) return [];
  const named = ({ file, lacks }) => `  ${file}: ${lacks.map((part) => PARTS[part].name).join(', ')}`;
  return [
    `NOT RUN here, ${whole.length} suites as a whole and ${inPart.length} in part, each with the parts that it lacks:`,
    ...whole.map(named),
    ...inPart.map((one) => `${named(one)} (in part)`),
    ...missingLines(missing),
    'With CI=true, and by "npm run test:all", a missing part is a failure.',
  ];
}
