import { z } from 'zod';
import { rpc } from './rpc.js';

const MAX_WAIT_MS = 8_000;

const serverReport = z.object({
  name: z.string(),
  /** Why it could not be asked. */
  problem: z.string().nullable(),
  facts: z
    .object({
      version: z.string(),
      /** How far its clock is ahead of the process's, in milliseconds. */
      skewMs: z.number().int(),
      settings: z.record(z.string(), z.string()).optional(),
    })
    .nullable(),
});

/** What a process says of itself and of the servers that it uses; no secret. */
export const processReport = z.object({
  /** Tells it from others of its service. */
  instance: z.uuid(),
  /** The service that it is. */
  service: z.string(),
  host: z.string(),
  pid: z.number().int(),
  version: z.string(),
  node: z.string(),
  isProduction: z.boolean(),
  now: z.iso.datetime(),
  /** As in `/readyz`. */
  problems: z.array(z.string()),
  servers: z.array(serverReport),
  settings: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()])),
});

/** That, as a type. */
export type ProcessReport = z.output<typeof processReport>;

const examineRpcOf = (service: string) => rpc(`${service}.examine`, z.object({}), processReport, MAX_WAIT_MS);

/** Asks a process how it is; each question is answered by one of those that run. By the same ways as `applicationsRpc`. */
export const selfReportRpc = {
  gateway: examineRpcOf('gateway'),
  accounts: examineRpcOf('accounts'),
  authLinking: examineRpcOf('auth-linking'),
  mail: examineRpcOf('mail'),
  pushDelivery: examineRpcOf('push-delivery'),
  standalone: examineRpcOf('standalone'),
};
