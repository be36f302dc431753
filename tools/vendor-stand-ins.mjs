// npm run vendors:stand-ins: local stand-ins of the push services of vendors, for a try without an account at any of them.
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { ensureStandInsBuilt, fail, readArguments, ROOT } from './prepare.mjs';

const FIRST_PORT = 9400;
const PORTS = 5;
const SECRET = /secret|privateKey|serviceAccount/i;
const HELP = `Usage: npm run vendors:stand-ins -- [--app=my-first-app] [--port=${FIRST_PORT}] [--folder=data/vendor-stand-ins]

Runs local stand-ins of APNs, FCM, Web Push, Huawei, Honor, Xiaomi, OPPO, vivo and Meizu, and prints how a Gatepost on this machine
reaches them, the command that sets the credentials of each for the application --app, and then one JSON line for each message that
they accept. They listen on ${PORTS} ports from --port on, of 127.0.0.1 only; --port=0: free ones. Their keys stay in --folder, so that
credentials work again after the next start. Ctrl-C ends them. What they check and cannot prove: docs/vendors/stand-ins.md.
`;

const { values } = readArguments({
  options: {
    help: { type: 'boolean' },
    app: { type: 'string', default: 'my-first-app' },
    port: { type: 'string', default: String(FIRST_PORT) },
    folder: { type: 'string', default: join(ROOT, 'data', 'vendor-stand-ins') },
  },
});
if (values.help) {
  process.stdout.write(HELP);
  process.exit(0);
}
const folder = resolve(values.folder);
const firstPort = Number(values.port);
if (!/^\d{1,5}$/.test(values.port) || firstPort + PORTS > 65_536) fail('--port takes a number of a port.');
if (!/^[\w-]{1,64}$/.test(values.app)) fail('--app takes the id of an application.');

ensureStandInsBuilt();
const { VendorServices } = await import('../dist/libs/testing/src/vendors/vendor-services.js');
const services = await VendorServices.start({
  folder,
  ...(firstPort === 0 ? {} : { firstPort }),
}).catch((error) => fail(`The stand-ins cannot start: ${error.message}`));
print(instructions());
services.recordWith((vendor, address, message) => print(JSON.stringify({ vendor, address, message })));
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => void services.stop().then(process.exit));

function print(line) {
  process.stdout.write(`${line}\n`);
}

function instructions() {
  const environment = Object.entries(services.env()).map(([name, value]) => `export ${name}='${value}'`);
  const commands = Object.entries(services.credentials).map(
    ([vendor, fields]) => `npm run gatepost -- vendors set ${values.app} ${vendor} ${fieldsOf(vendor, fields)}`,
  );
  return [
    'The stand-ins listen. Start Gatepost with this environment:',
    ...environment,
    '',
    `Set the credentials of ${values.app}; in the same environment where Gatepost runs as services:`,
    ...commands,
    '',
    'Send one message to one device, or register installations with such tokens and push to them:',
    ...Object.keys(services.credentials).map(tryLine),
    '',
    'Messages that the stand-ins accept:',
  ].join('\n');
}

/** The command line takes secrets from files only. */
function fieldsOf(vendor, fields) {
  return Object.entries(fields)
    .map(([name, value]) => {
      if (!SECRET.test(name)) return `${name}=${value}`;
      const file = join(folder, `${vendor}-${name}`);
      writeFileSync(file, value, { mode: 0o600 });
      return `${name}=@${file}`;
    })
    .join(' ');
}

function tryLine(vendor) {
  return `npm run gatepost -- vendors try ${values.app} ${vendor} --token ${tokenOf(vendor)}`;
}

function tokenOf(vendor) {
  if (vendor !== 'web-push') return vendor === 'apns' ? 'a0'.repeat(32) : `${vendor}-device-1`;
  const file = join(folder, 'web-push-subscription.json');
  writeFileSync(file, JSON.stringify(services.subscribeBrowser()));
  return `@${file}`;
}
