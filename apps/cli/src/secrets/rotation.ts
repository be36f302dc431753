import { setTimeout as sleep } from 'node:timers/promises';
import { accountsSealingRpc } from '#contracts';
import type { RpcClient } from '#messaging';
import type { Deployment } from '../deployment.js';
import { print } from '../terminal.js';
import { describeServices, type Walk, walk } from './survey.js';

/** A row that somebody else changes at the moment is met again in the next walk. */
const MAX_WALKS = 20;
const PAUSE_MS = 100;
/** After so many a line shows that it goes on. */
const TOLD_EVERY = 10_000;

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
