// npm run bench: Gatepost in both shapes beside a bare server that does the same statements, in one run.
import { fail, readArguments } from '../tools/prepare.mjs';
import { CASES } from './cases.mjs';
import { measureConsole, printConsoleReport, USERS } from './console/measure-console.mjs';
import { measurePages, printPageReport } from './console/measure-page.mjs';
import { startContestants } from './contestants.mjs';
import { measureImport, printImportReport } from './import/measure-import.mjs';
import { measure, median, warmUp } from './load.mjs';
import { printMailReport } from './mail/mail-report.mjs';
import { measureMails } from './mail/measure-mail.mjs';
import { untilQuiet } from './process-usage.mjs';
import { printReport } from './report.mjs';

/** Not a matter of requests: how many mails leave, and how soon. */
const MAIL = 'mail';
/** How long an import takes. It runs only where it is named: it takes ten minutes. */
const IMPORT = 'import';
const DEFAULT_CASES = [...Object.keys(CASES), MAIL];
/** Searches of operators. They run only where they are named: a million users take minutes to add. */
const CONSOLE = 'console';
/** The pages of the console in a browser, also only where it is named. */
const CONSOLE_PAGE = 'console-page';
const ALL_CASES = [...DEFAULT_CASES, IMPORT, CONSOLE, CONSOLE_PAGE];
const HELP = `Usage: npm run bench -- [--seconds=5] [--rounds=3] [--cases=${ALL_CASES.join(',')}] [--scale=1]

Measures requests per second at 32 in flight (passwords: 16) of the services (one of each), of the standalone server and of a bare
Fastify + node-postgres server, round by round in turn, each load generator a process of its own. Queries are measured one at a
time, over 100,000 users, by their latency; logins by an account on another platform beside users/me. "mail" is one mail
service before an SMTP server, beside nodemailer alone. "import" is the import of a million users, 100,000 installations and 1,000 roles into
the standalone server; it runs only where it is named, and --scale=0.1 makes it smaller. "console" is the search of operators over
--users=1000000 users with the services, also only where it is named. "console-page" is the console in Chromium on a processor slowed
down four times, and an export of all those users, where it is named.
Needs PostgreSQL (DATABASE_URL), Redis (REDIS_URL) and RabbitMQ (AMQP_URL); works in a database of its own and drops it.
`;

const { values } = readArguments({
  options: {
    help: { type: 'boolean' },
    seconds: { type: 'string', default: '5' },
    rounds: { type: 'string', default: '3' },
    cases: { type: 'string', default: DEFAULT_CASES.join(',') },
    scale: { type: 'string', default: '1' },
    users: { type: 'string', default: String(USERS) },
  },
});
if (values.help) {
  process.stdout.write(HELP);
  process.exit(0);
}
const names = values.cases.split(',');
for (const name of names)
  if (!ALL_CASES.includes(name)) fail(`There is no case "${name}". Cases: ${ALL_CASES.join(', ')}.`);
const seconds = Number(values.seconds);
const rounds = Number(values.rounds);

/** Longest event-loop lag by process, in milliseconds, while it was hashing itself. */
const longestLags = new Map();
const requestCases = names.filter((name) => Object.hasOwn(CASES, name));
if (requestCases.length > 0) await measureRequests(requestCases);
if (names.includes(MAIL)) printMailReport(await measureMails(rounds));
if (names.includes(CONSOLE)) printConsoleReport(await measureConsole(Number(values.users), seconds));
if (names.includes(CONSOLE_PAGE)) printPageReport(await measurePages(Number(values.users)));
if (names.includes(IMPORT)) printImportReport(await measureImport(Number(values.scale)));

async function measureRequests(cases) {
  const contestants = await startContestants();
  try {
    const results = [];
    for (const name of cases) results.push(...(await measureCase(name, contestants)));
    await printReport({ names: cases, results, contestants, longestLags, median });
  } finally {
    await contestants.stop();
  }
}

/** Measures a case with everyone who takes part in it, round by round in turn. */
async function measureCase(name, contestants) {
  const results = [];
  const entrants = contestants.list.filter(({ kind }) => CASES[name].entrants.includes(kind));
  for (const entrant of entrants) await warmUp(CASES[name], entrant);
  for (let round = 1; round <= rounds; round += 1) {
    for (const entrant of entrants) {
      process.stderr.write(`${name}: ${entrant.kind}, round ${round} of ${rounds}\n`);
      // Looking at the lag starts it anew: what others did before is not this one's.
      await entrant.lags();
      const measured = await measure(CASES[name], entrant, seconds);
      results.push({
        name,
        kind: entrant.kind,
        ...measured,
        besidePerSecond: await measureBeside(CASES[name], entrant),
      });
      if (CASES[name].watchesLag) noteLags(entrant.kind, await entrant.lags());
      await untilQuiet(entrant.processes);
    }
  }
  return results;
}

async function measureBeside({ beside }, entrant) {
  return beside === undefined ? undefined : (await measure(CASES[beside], entrant, seconds)).perSecond;
}

function noteLags(kind, lags) {
  for (const [name, lagMs] of lags) {
    const process = kind === name ? name : `${kind}: ${name}`;
    longestLags.set(process, Math.max(lagMs, longestLags.get(process) ?? 0));
  }
}
