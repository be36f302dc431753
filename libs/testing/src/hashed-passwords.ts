import type { GatepostServer } from './gatepost-server.js';

const HASHED = /^gatepost_password_hash_duration_seconds_count (\d+)$/gm;

/** How many passwords all processes of a server have hashed or compared so far, by their metrics. */
export async function hashedPasswords({ processes }: Pick<GatepostServer, 'processes'>): Promise<number> {
  const metrics = processes.map(async ({ port }) => (await fetch(`http://127.0.0.1:${port}/metrics`)).text());
  const counts = (await Promise.all(metrics)).flatMap((text) => [...text.matchAll(HASHED)]);
  return counts.reduce((sum, [, count]) => sum + Number(count), 0);
}
