// One mail service before a local SMTP server: how many mails leave in a second where many wait, and how soon a mail leaves
// after the sign-up that it belongs to.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ROOT } from '../../tools/prepare.mjs';
import { APP, ended, freePort, newBenchRun, ready } from '../bench-run.mjs';
import { startSink } from './sink-process.mjs';

const WAITING_MAILS = 3_000;
const SIGN_UPS_AT_ONCE = 32;
const SIGN_UPS_PER_SECOND = 20;
const SIGN_UP_SECONDS = 20;
const CONNECTIONS = 5;
const TIMEOUT_MS = 120_000;
/** Cheap: what is measured comes after the password. */
const LOWEST_COST = '4';
/** Settings work everywhere within a second. */
const EFFECTIVE_MS = 1_200;

export async function measureMails(rounds) {
  const run = await newBenchRun();
  try {
    await run.command('migrate', '--quiet');
    const sink = await startSink(run.launch);
    const signUp = await startServices(run);
    const throughput = [];
    const latencies = [];
    for (let round = 1; round <= rounds; round += 1) {
      process.stderr.write(`mail: round ${round} of ${rounds}\n`);
      throughput.push(await measureThroughput(run, sink, signUp));
      latencies.push(...(await measureLatencies(run, sink, signUp)));
    }
    return { throughput, latencies: latencies.sort((a, b) => a - b) };
  } finally {
    await run.stop();
  }
}

/** Mails per second of the service, and of nodemailer alone right after it. */
async function measureThroughput(run, sink, signUp) {
  let left = WAITING_MAILS;
  const signUpSome = async () => {
    while ((left -= 1) >= 0) await signUp();
  };
  await Promise.all(Array.from({ length: SIGN_UPS_AT_ONCE }, signUpSome));
  const mail = await startMail(run, sink);
  const accepted = await sink.take(WAITING_MAILS, TIMEOUT_MS);
  await ended(mail);
  const [, first] = accepted[0];
  const [, last] = accepted.at(-1);
  const bare = Number(await outputOf('bench/mail/bare-mailer.mjs', [sink.url, WAITING_MAILS, CONNECTIONS]));
  await sink.take(WAITING_MAILS, TIMEOUT_MS);
  return { perSecond: (WAITING_MAILS - 1) / ((last - first) / 1000), bare, doubled: accepted.length - WAITING_MAILS };
}

/** Milliseconds from the answer to each sign-up until its mail was with the SMTP server. */
async function measureLatencies(run, sink, signUp) {
  const mail = await startMail(run, sink);
  await signUp();
  await sink.take(1, TIMEOUT_MS);
  const startedAt = performance.now();
  const signUps = [];
  for (let index = 0; index < SIGN_UPS_PER_SECOND * SIGN_UP_SECONDS; index += 1) {
    await sleep(Math.max(0, startedAt + (index * 1000) / SIGN_UPS_PER_SECOND - performance.now()));
    const answer = signUp();
    // One that fails ends the measurement below, not the process here.
    answer.catch(() => undefined);
    signUps.push(answer);
  }
  const answered = await Promise.all(signUps);
  const acceptedAt = new Map(await sink.take(answered.length, TIMEOUT_MS));
  await ended(mail);
  // A mail may be there before the answer has come back.
  return answered.map(({ email, at }) => Math.max(0, acceptedAt.get(email) - at));
}

async function startServices({ services, launch, command }) {
  const [gatewayPort, accountsPort] = [await freePort(), await freePort()];
  launch('dist/apps/accounts/src/main.js', {
    ...services,
    ...APP,
    GATEPOST_PASSWORD_COST: LOWEST_COST,
    GATEPOST_PORT: accountsPort,
  });
  launch('dist/apps/gateway/src/main.js', { ...services, GATEPOST_PORT: gatewayPort });
  await Promise.all([ready(accountsPort), ready(gatewayPort)]);
  await command('apps', 'set', APP.GATEPOST_APP_ID, 'verifyEmailOnSignUp', 'true');
  await sleep(EFFECTIVE_MS);
  return () => signUp(`http://127.0.0.1:${gatewayPort}`);
}

let people = 0;

/** @returns the address, and when the sign-up was answered */
async function signUp(url) {
  people += 1;
  const email = `person${people}@example.com`;
  const response = await fetch(`${url}/1.1/users`, {
    method: 'POST',
    headers: {
      'x-lc-id': APP.GATEPOST_APP_ID,
      'x-lc-key': APP.GATEPOST_APP_KEY,
      'content-type': 'application/json',
    },
    body: JSON.stringify({ username: `person${people}`, password: 'correct horse', email }),
  });
  const at = performance.timeOrigin + performance.now();
  const text = await response.text();
  if (response.status !== 201) throw new Error(`a sign-up was answered ${response.status} ${text}`);
  return { email, at };
}

async function startMail({ services, launch }, { url }) {
  const port = await freePort();
  const mail = launch('dist/apps/mail/src/main.js', {
    ...services,
    GATEPOST_PORT: port,
    GATEPOST_SMTP_CONNECTIONS: CONNECTIONS,
    GATEPOST_RATE_LIMIT_MAILS: 'off',
    GATEPOST_MAIL_FROM: 'no-reply@example.com',
    SMTP_URL: url,
  });
  await ready(port);
  return mail;
}

function outputOf(script, args) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [join(ROOT, script), ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
    let text = '';
    child.stdout.setEncoding('utf8').on('data', (chunk) => (text += chunk));
    child.once('exit', (code) => (code === 0 ? resolve(text) : reject(new Error(`${script} ended with ${code}`))));
  });
}
