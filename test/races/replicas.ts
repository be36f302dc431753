import { type GatepostServer, startServices } from '#testing';

/** A Gatepost with two processes of every service. */
export function startTwoOfEach(env: Readonly<Record<string, string>> = {}): Promise<GatepostServer> {
  return startServices({ gateway: 2, accounts: 2, 'auth-linking': 2, mail: 2, 'push-delivery': 2 }, env);
}
