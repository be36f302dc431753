import { accountsSealingRpc, authLinkingSealingRpc, mailSealingRpc, type RpcReply } from '#contracts';
import type { RpcClient } from '#messaging';
import { StartError } from '#bootstrap';
import { askReplicas, type Deployment } from '../deployment.js';
import type { SealedCounts, ServiceSurvey, Survey } from './survey.types.js';

const SERVICES = {
  accounts: accountsSealingRpc,
  'auth-linking': authLinkingSealingRpc,
  mail: mailSealingRpc,
} as const;

type Service = keyof typeof SERVICES;
type SealingState = RpcReply<typeof accountsSealingRpc.describe>;

const SEALING_SERVICES = Object.keys(SERVICES) as Service[];

/** How one goes through a table. */
export interface Walk {
  readonly service: Service;
  readonly table: string;
  readonly keyId: string;
  readonly reseal: boolean;
}

/** Goes through a table from its first page to its last. */
export async function walk(
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

/**
 * What the processes of each service seal with.
 * @throws StartError where they seal with different secrets: the rollout of one is not at its end
 */
export async function describeServices(
  rpc: RpcClient,
  deployment: Deployment,
): Promise<ReadonlyMap<Service, SealingState>> {
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

function disagreement(keyIds: readonly (readonly [keyId: string, service: string])[]): string {
  const found = keyIds.map(([keyId, service]) => `${keyId} (${service})`).join(' and ');
  return `Processes seal with different secrets: ${found}. Give all of them the same GATEPOST_SECRET, and restart them first.`;
}
