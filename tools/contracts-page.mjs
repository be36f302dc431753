// The page of contracts: every RPC, event, broadcast and direct message with its purpose and the file that holds its shapes.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { PURPOSES } from './contract-purposes.mjs';
import { page, table } from './markdown.mjs';
import { fail, ROOT } from './prepare.mjs';

const SOURCES = 'libs/contracts/src';
const DEFAULT_TIMEOUT_MS = 5_000;

export async function contractsPage() {
  const all = await readContracts();
  checkPurposes(all);
  const rpcs = all.filter(({ request }) => request !== undefined);
  const messages = all.filter(({ payload }) => payload !== undefined);
  const events = messages.filter(({ pattern }) => /\.v\d+$/.test(pattern));
  const direct = messages.filter(({ group }) => group === 'connectorMessages');
  const broadcasts = messages.filter((message) => !events.includes(message) && !direct.includes(message));
  return page(
    'Contracts',
    'libs/contracts',
    `Messages between processes. The linked files hold the shapes. How messages travel:
[architecture](architecture.md#messages).`,
    '## RPCs',
    `The first part of the pattern names the service that replies. The caller waits ${seconds(DEFAULT_TIMEOUT_MS)}, or as stated.`,
    ...[...new Set(rpcs.map(serviceOf))].flatMap((service) => {
      const own = rpcs.filter((rpc) => serviceOf(rpc) === service && !isShared(rpc));
      return [`### ${service}`, ...filesOf(own)];
    }),
    '### RPCs of several services',
    ...sharedOf(rpcs.filter(isShared)),
    '## Events',
    `Committed facts, through the outbox, at least once. Accounts publishes them. ${links(events)}`,
    table(
      ['event', 'subscribers', 'purpose'],
      events.map((event) => [`\`${event.pattern}\``, event.subscribers.join(', ') || 'none yet', purposeOf(event)]),
    ),
    '## Broadcasts',
    `To every process, best effort. ${links(broadcasts)}`,
    purposes(broadcasts),
    '## Direct messages',
    `To one connector by name, best effort: the queues of devices hold the same facts. ${links(direct)}`,
    purposes(direct),
  );
}

/** Every contract once, with the file and the name of its group. */
async function readContracts() {
  const files = readdirSync(join(ROOT, 'dist', SOURCES)).filter((name) => name.endsWith('.contract.js'));
  const modules = await Promise.all(
    files.sort().map(async (file) => [file.replace(/\.js$/, '.ts'), await import(join(ROOT, 'dist', SOURCES, file))]),
  );
  return modules.flatMap(([file, exported]) =>
    Object.entries(exported)
      .filter(([, value]) => isGroup(value))
      .flatMap(([group, contracts]) => Object.values(contracts).map((contract) => ({ ...contract, file, group }))),
  );
}

function isGroup(value) {
  return (
    typeof value === 'object' &&
    value !== null &&
    Object.values(value).every((entry) => typeof entry?.pattern === 'string')
  );
}

function checkPurposes(contracts) {
  const missing = contracts.filter((contract) => purposeOf(contract) === undefined).map(({ pattern }) => pattern);
  const used = new Set(contracts.flatMap((contract) => [contract.pattern, sharedPattern(contract)]));
  const unused = Object.keys(PURPOSES).filter((pattern) => !used.has(pattern));
  if (missing.length > 0) fail(`tools/contract-purposes.mjs lacks the purpose of ${missing.join(', ')}`);
  if (unused.length > 0) fail(`tools/contract-purposes.mjs has purposes of unknown contracts: ${unused.join(', ')}`);
}

function purposeOf(contract) {
  return PURPOSES[contract.pattern] ?? PURPOSES[sharedPattern(contract)];
}

function sharedPattern({ pattern }) {
  return `*${pattern.slice(pattern.indexOf('.'))}`;
}

function isShared(contract) {
  return PURPOSES[sharedPattern(contract)] !== undefined;
}

function serviceOf({ pattern }) {
  return pattern.slice(0, pattern.indexOf('.'));
}

function filesOf(rpcs, nameOf) {
  return [...new Set(rpcs.map(({ file }) => file))].flatMap((file) => {
    const own = rpcs.filter((rpc) => rpc.file === file);
    return [links(own), purposes(own, nameOf)];
  });
}

/** One line for the RPCs that several services have under the same name, with these services. */
function sharedOf(rpcs) {
  return filesOf(
    rpcs.filter((rpc) => rpcs.find((other) => sharedPattern(other) === sharedPattern(rpc)) === rpc),
    (rpc) => {
      const services = rpcs.filter((other) => sharedPattern(other) === sharedPattern(rpc)).map(serviceOf);
      return `\`${sharedPattern(rpc)}\` of ${services.join(', ')}`;
    },
  );
}

function links(contracts) {
  return [...new Set(contracts.map(({ file }) => `[\`${file}\`](../${SOURCES}/${file})`))].join(', ');
}

function purposes(contracts, nameOf = ({ pattern }) => `\`${pattern}\``) {
  return contracts.map((contract) => `- ${nameOf(contract)}${purposeText(contract)}${patience(contract)}`).join('\n');
}

function purposeText(contract) {
  const purpose = purposeOf(contract);
  return purpose === '' ? '' : `: ${purpose}`;
}

function patience({ timeoutMs = DEFAULT_TIMEOUT_MS }) {
  return timeoutMs === DEFAULT_TIMEOUT_MS ? '' : ` (${seconds(timeoutMs)})`;
}

function seconds(milliseconds) {
  return `${milliseconds / 1000} s`;
}
