import { setTimeout as sleep } from 'node:timers/promises';
import { StartError } from '#bootstrap';
import { accountsSealingRpc, authLinkingSealingRpc, mailSealingRpc, type RpcReply } from '#contracts';
import type { RpcClient } from '#messaging';
import { askReplicas, type Deployment } from '../operator-connection.js';
import { print } from '../terminal.js';
import type { SealedCounts, ServiceSurvey, Survey } from './survey.rules.js';

const SERVICES = {
  accounts: accountsSealingRpc,
  'auth-linking': authLinkingSealingRpc,
  mail: mailSealingRpc,
} as const;

const SEALING_SERVICES = Object.keys(SERVICES) as Service[];
/** A row that somebody else changes at the moment is met again in the next walk. */
const MAX_WALKS = 20;
const PAUSE_MS = 100;
/** After so many a line shows that it goes on. */
const TOLD_EVERY = 10_000;
type Service = keyof typeof SERVICES;
type SealingState = RpcReply<typeof accountsSealingRpc.describe>;

/** How one goes through a table. */
interface Walk {
  readonly service: Service;
  readonly table: string;
  readonly keyId: string;
  readonly reseal: boolean;
}

/** All that is sealed, and what else may need a secret that was replaced. */
export async function surveyed(rpc: RpcClient, deployment: Deployment): Promise<Survey> {
  const states = await describeServices(rpc, deployment);
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

/** Seals anew whatever accepted secrets have sealed. @returns whether nothing at rest needs them any more */
export async function rotate(rpc: RpcClient, deployment: Deployment): Promise<boolean> {
  const states = await describeServices(rpc, deployment);
  let resealed = 0;
  let left = 0;
  for (const [service, { keyId, acceptedKeyIds, tables }] of states) {
    for (const table of tables) {
      const outcome = await rotateTable(rpc, { service, table, keyId, reseal: true }, acceptedKeyIds);
      const rest = outcome.left === 0 ? '' : `, ${outcome.left} do not open and stay as they are`;
      print(`${service}, ${table}: ${outcome.resealed} sealed anew${rest}`);
      resealed += outcome.resealed;
      left += outcome.left;
    }
  }
  // Who still seals with another secret by now has made values that were not seen.
  const keyId = [...(await describeServices(rpc, deployment)).values()][0]?.keyId ?? '';
  if (left === 0) await rpc.call(accountsSealingRpc.noteRotation, { keyId, isChanged: resealed > 0 });
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
    // What was sealed with an accepted secret before this walk is sealed anew, or was removed meanwhile.
    if (left <= 0) break;
  }
  return { resealed, left: Math.max(left, 0) };
}

function progressOf({ service, table }: Walk): (rows: number) => void {
  let done = 0;
  let told = 0;
  return (rows) => {
    done += rows;
    if (done - told < TOLD_EVERY) return;
    told = done;
    print(`${service}, ${table}: ${done} …`);
  };
}

/**
 * What the processes of each service seal with.
 * @throws StartError where they seal with different secrets: the rollout of one is not at its end
 */
async function describeServices(rpc: RpcClient, deployment: Deployment): Promise<ReadonlyMap<Service, SealingState>> {
  const states = new Map<Service, SealingState>();
  const keyIds = new Map<string, string>();
  for (const service of SEALING_SERVICES) {
    const { answers, expected } = await askReplicas(rpc, deployment, SERVICES[service].describe);
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

function disagreement(keyIds: readonly (readonly [keyId: string, service: string])[]): string {
  const found = keyIds.map(([keyId, service]) => `${keyId} (${service})`).join(' and ');
  return `Processes seal with different secrets: ${found}. Give all of them the same GATEPOST_SECRET, and restart them first.`;
}

/** Goes through a table from its first page to its last. */
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
