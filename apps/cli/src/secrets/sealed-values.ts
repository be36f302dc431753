import { setTimeout as sleep } from 'node:timers/promises';
import { StartError } from '#bootstrap';
import {
  accountsSealingRpc,
  authLinkingSealingRpc,
  consoleSealingRpc,
  mailSealingRpc,
  pushSealingRpc,
  type RpcReply,
} from '#contracts';
import { isAppError } from '#errors';
import type { RpcClient } from '#messaging';
import { callReplicas, type Deployment } from '../operator-connection.js';
import { print } from '../terminal.js';

const SERVICES = {
  accounts: accountsSealingRpc,
  'auth-linking': authLinkingSealingRpc,
  console: consoleSealingRpc,
  mail: mailSealingRpc,
  'push-delivery': pushSealingRpc,
} as const;

const SEALING_SERVICES = Object.keys(SERVICES) as Service[];
/** The next pass repeats rows that another transaction was changing. */
const MAX_WALKS = 20;
const PAUSE_MS = 100;
const PROGRESS_EVERY = 10_000;
const NOTHING_RESEALED =
  'No value needed resealing. If you have just replaced the secret, restart every process and run this command again.';
type Service = keyof typeof SERVICES;
type SealingState = RpcReply<typeof accountsSealingRpc.describe>;

interface Walk {
  readonly service: Service;
  readonly table: string;
  readonly keyId: string;
  readonly reseal: boolean;
}

export async function takeSurvey(rpc: RpcClient, deployment: Deployment): Promise<Survey> {
  const states = await describeServices(rpc, deployment);
  printLeftOut(states);
  const services: ServiceSurvey[] = [];
  for (const [service, { keyId, acceptedKeyIds, tables: names }] of states) {
    const tables: SealedCounts[] = [];
    for (const table of names) tables.push(await walk(rpc, { service, table, keyId, reseal: false }));
    services.push({ service, keyId, acceptedKeyIds, tables });
  }
  const keyId = services[0]?.keyId ?? '';
  return {
    keyId,
    services,
    rotation: await rpc.call(accountsSealingRpc.getRotation, { keyId }),
    waitingEvents: await deployment.waitingEvents('mail'),
    deadEvents: await deployment.deadEvents('mail'),
  };
}

export async function rotate(rpc: RpcClient, deployment: Deployment): Promise<boolean> {
  const states = await describeServices(rpc, deployment);
  printLeftOut(states);
  let resealed = 0;
  let left = 0;
  for (const [service, { keyId, acceptedKeyIds, tables }] of states) {
    for (const table of tables) {
      const outcome = await rotateTable(rpc, { service, table, keyId, reseal: true }, acceptedKeyIds);
      const rest = outcome.left === 0 ? '' : `, ${outcome.left} cannot be opened and stay unchanged`;
      print(`${service}, ${table}: ${outcome.resealed} sealed anew${rest}`);
      resealed += outcome.resealed;
      left += outcome.left;
    }
  }
  if (resealed + left === 0) print(NOTHING_RESEALED);
  // A process that still seals with another secret would have added values that this run did not see.
  const keyId = [...(await describeServices(rpc, deployment)).values()][0]?.keyId ?? '';
  if (left === 0) await rpc.call(accountsSealingRpc.recordRotation, { keyId, isChanged: resealed > 0 });
  return left === 0;
}

async function rotateTable(rpc: RpcClient, wanted: Walk, acceptedKeyIds: readonly string[]) {
  let resealed = 0;
  let left = 0;
  for (let walks = 0; walks < MAX_WALKS; walks += 1) {
    if (walks > 0) await sleep(PAUSE_MS);
    const found = await walk(rpc, wanted, progressOf(wanted));
    resealed += found.resealed;
    left = acceptedKeyIds.reduce((sum, keyId) => sum + (found.counts[keyId] ?? 0), 0) - found.resealed;
    // All values sealed with an accepted secret before this walk are re-encrypted, or were removed in the meantime.
    if (left <= 0) break;
  }
  return { resealed, left: Math.max(left, 0) };
}

function progressOf({ service, table }: Walk): (rows: number) => void {
  let done = 0;
  let reported = 0;
  return (rows) => {
    done += rows;
    if (done - reported < PROGRESS_EVERY) return;
    reported = done;
    print(`${service}, ${table}: ${done} …`);
  };
}

/** The keys of each service. @throws StartError if its processes seal with different secrets: a rollout is not complete */
async function describeServices(rpc: RpcClient, deployment: Deployment): Promise<ReadonlyMap<Service, SealingState>> {
  const states = new Map<Service, SealingState>();
  const keyIds = new Map<string, string>();
  for (const service of SEALING_SERVICES) {
    if (service === 'console' && !(await hasConsole(rpc, deployment))) continue;
    const { answers, expected } = await callReplicas(rpc, deployment, SERVICES[service].describe);
    if (answers.length < expected)
      throw new StartError(`Only ${answers.length} of ${expected} processes of ${service} have answered. Try again.`);
    for (const answer of answers) {
      keyIds.set(answer.keyId, service);
      states.set(service, answer);
    }
  }
  if (keyIds.size > 1) throw new StartError(disagreement([...keyIds]));
  return states;
}

async function hasConsole(rpc: RpcClient, deployment: Deployment): Promise<boolean> {
  if (!deployment.isOneProcess) return (await deployment.replicas('console')) > 0;
  return rpc.call(consoleSealingRpc.describe, {}).then(
    () => true,
    (error: unknown) => {
      if (isAppError(error, 'SERVICE_UNAVAILABLE')) return false;
      throw error;
    },
  );
}

/** A console that is only stopped may have sealed values, which no other service can count or reseal. */
function printLeftOut(states: ReadonlyMap<Service, SealingState>): void {
  if (states.has('console')) return;
  print('console: does not run, so its one-time codes are left out. If operators use them, start it, and repeat this.');
}

function disagreement(keyIds: readonly (readonly [keyId: string, service: string])[]): string {
  const found = keyIds.map(([keyId, service]) => `${keyId} (${service})`).join(' and ');
  return `Processes seal with different secrets: ${found}. Set the same GATEPOST_SECRET for all of them, and restart them first.`;
}

async function walk(
  rpc: RpcClient,
  { service, ...request }: Walk,
  onPage?: (rows: number) => void,
): Promise<SealedCounts & { readonly resealed: number }> {
  const counts: Record<string, number> = {};
  let resealed = 0;
  let after: string[] | null = null;
  do {
    const page: RpcReply<typeof mailSealingRpc.walk> = await rpc.call(SERVICES[service].walk, { ...request, after });
    for (const [keyId, count] of Object.entries(page.counts)) counts[keyId] = (counts[keyId] ?? 0) + count;
    resealed += page.resealed;
    after = page.next;
    onPage?.(page.resealed);
  } while (after !== null);
  return { name: request.table, counts, resealed };
}

interface SealedCounts {
  readonly name: string;
  readonly counts: Readonly<Record<string, number>>;
}

interface ServiceSurvey {
  readonly service: string;
  readonly keyId: string;
  readonly acceptedKeyIds: readonly string[];
  readonly tables: readonly SealedCounts[];
}

export interface Survey {
  readonly keyId: string;
  readonly services: readonly ServiceSurvey[];
  /** The times until which mailed links and codes may need another key; null without a recorded rotation. */
  readonly rotation: { readonly linksUntil: string | null; readonly codesUntil: string | null };
  readonly waitingEvents: number;
  readonly deadEvents: number;
}

export interface Verdict {
  readonly lost: string[];
  readonly needs: string[];
  readonly hasAccepted: boolean;
}

export function assessSurvey(survey: Survey, now: Date): Verdict {
  const accepted = new Set(survey.services.flatMap(({ acceptedKeyIds }) => acceptedKeyIds));
  const hasAccepted = accepted.size > 0;
  const lost = countsOf(survey, (keyId) => keyId !== survey.keyId && !accepted.has(keyId));
  const stale = countsOf(survey, (keyId) => accepted.has(keyId));
  const needs = hasAccepted
    ? [...stale.map((one) => `${one}: run "secrets rotate"`), ...passingNeeds(survey, now)]
    : [];
  return { lost, needs, hasAccepted };
}

export function surveyLines({ services }: Survey): string[] {
  return services.flatMap((one) => [
    heading(one),
    ...one.tables.map(({ name, counts }) => {
      const found = Object.entries(counts).map(([keyId, count]) => `${count} with ${keyId}${remark(one, keyId)}`);
      return `  ${name}: ${found.join(', ') || 'none'}`;
    }),
  ]);
}

function heading({ service, keyId, acceptedKeyIds }: ServiceSurvey): string {
  const accepting = acceptedKeyIds.length === 0 ? '' : `, and accepts ${acceptedKeyIds.join(', ')}`;
  return `${service} seals with ${keyId}${accepting}`;
}

function remark({ keyId: current, acceptedKeyIds }: ServiceSurvey, keyId: string): string {
  if (keyId === current) return '';
  return acceptedKeyIds.includes(keyId) ? ' (accepted)' : ' (unknown)';
}

function countsOf({ services }: Survey, isMeant: (keyId: string) => boolean): string[] {
  return services.flatMap(({ service, tables }) =>
    tables.flatMap(({ name, counts }) =>
      Object.entries(counts)
        .filter(([keyId]) => isMeant(keyId))
        .map(([keyId, count]) => `${count} of ${service}, ${name}, sealed with ${keyId}`),
    ),
  );
}

/** Needs that end by themselves some time after re-encryption. */
function passingNeeds({ rotation, waitingEvents, deadEvents }: Survey, now: Date): string[] {
  const needs: string[] = [];
  const { linksUntil, codesUntil } = rotation;
  if (linksUntil === null || codesUntil === null)
    needs.push('mailed links and codes of text messages: run "secrets rotate", which records the time');
  else {
    if (Date.parse(codesUntil) > now.getTime()) needs.push(`codes of text messages, until ${codesUntil}`);
    if (Date.parse(linksUntil) > now.getTime()) needs.push(`mailed links, until ${linksUntil}`);
  }
  if (waitingEvents > 0) needs.push(`${waitingEvents} events that wait for mail`);
  if (deadEvents > 0) needs.push(`${deadEvents} dead letters of mail: replay or drop them`);
  return needs;
}
