import { type ProcessReport, selfReportRpc } from '#contracts';
import type { RpcClient } from '#messaging';
import { askReplicas, type Deployment } from '../deployment.js';
import { SilentServiceError } from '../operator-connection.js';
import type { Finding } from './check.js';
import { processFindings, type ServiceReports } from './process-findings.js';
import { serverFindings, versionFindings } from './server-findings.js';

const { standalone, ...services } = selfReportRpc;

/** What the processes say, and what is wrong with it. */
export interface DeploymentState {
  readonly reports: readonly ProcessReport[];
  readonly findings: readonly Finding[];
}

/** Asks every process that answers RPCs how it is. @param silent gets the services of which none answers */
export async function examineDeployment(
  rpc: RpcClient,
  deployment: Deployment,
  silent: Set<string>,
): Promise<DeploymentState> {
  const contracts = deployment.isOneProcess ? [standalone] : Object.values(services);
  const asked: ServiceReports[] = [];
  for (const contract of contracts) {
    const [service = ''] = contract.pattern.split('.', 1);
    const replies = await askReplicas(rpc, deployment, contract).catch((error: unknown) => {
      if (!(error instanceof SilentServiceError)) throw error;
      silent.add(service);
    });
    if (replies !== undefined) asked.push({ service, reports: replies.answers, expected: replies.expected });
  }
  const reports = asked.flatMap((one) => one.reports);
  const { brokerVersion } = deployment;
  const broker = brokerVersion === undefined ? [] : versionFindings('rabbitmq', brokerVersion);
  return { reports, findings: [...processFindings(asked), ...serverFindings(reports), ...broker] };
}
