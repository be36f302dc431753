import { renameSync, rmSync } from 'node:fs';
import { isSocketPathTooLong, operatorSocketPath, StartError } from '#bootstrap';
import {
  accountsImportRpc,
  accountsIndexesRpc,
  accountsSealingRpc,
  applicationsRpc,
  authLinkingSealingRpc,
  consoleRpc,
  consoleSealingRpc,
  deliveriesRpc,
  diagnosticsRpc,
  identitiesRpc,
  lockoutsRpc,
  mailSealingRpc,
  platformsRpc,
  pushImportRpc,
  pushIndexesRpc,
  pushOperationsRpc,
  pushSealingRpc,
  type RpcContract,
  storedSecretsRpc,
  templatesRpc,
  textMessageProvidersRpc,
  userSearchRpc,
  vendorsRpc,
} from '#contracts';
import { OperatorSocket, type RpcTransport, type ServedOperators, serveOperators } from '#messaging';
import type { DataFolder } from './data-folder.js';

export const OPERATOR_CONTRACTS = [
  accountsImportRpc,
  accountsIndexesRpc,
  accountsSealingRpc,
  applicationsRpc,
  authLinkingSealingRpc,
  consoleRpc,
  consoleSealingRpc,
  deliveriesRpc,
  storedSecretsRpc,
  mailSealingRpc,
  pushImportRpc,
  pushIndexesRpc,
  pushOperationsRpc,
  pushSealingRpc,
  identitiesRpc,
  lockoutsRpc,
  platformsRpc,
  diagnosticsRpc,
  templatesRpc,
  textMessageProvidersRpc,
  userSearchRpc,
  vendorsRpc,
].flatMap((group) => Object.values<RpcContract>(group));

/**
 * The operator socket is the lock: it is opened before anything else and answers as long as its process runs.
 * @throws StartError if another server runs on the folder
 */
export async function lockDataFolder(
  { path }: DataFolder,
  requester: () => RpcTransport | undefined,
): Promise<ServedOperators> {
  const socketPath = operatorSocketPath(path);
  if (isSocketPathTooLong(socketPath))
    throw new StartError(`The path ${socketPath} is too long for a socket: choose a shorter GATEPOST_DATA_DIR.`);
  const listen = () => serveOperators(socketPath, OPERATOR_CONTRACTS, requester);
  try {
    return await listen();
  } catch (error) {
    if (!hasCode(error, 'EADDRINUSE')) throw error;
  }
  await removeStaleSocket(socketPath, path);
  try {
    return await listen();
  } catch (error) {
    throw hasCode(error, 'EADDRINUSE') ? alreadyRunning(path, error) : error;
  }
}

/**
 * Renames the socket of a killed process and tries it again: only one of several starting processes gets it, and a socket that still
 * answers is moved back.
 */
async function removeStaleSocket(socketPath: string, folder: string): Promise<void> {
  await assertNoListener(socketPath, folder);
  const aside = `${socketPath}.${process.pid}`;
  try {
    renameSync(socketPath, aside);
  } catch (error) {
    // Another starting process was faster: the first one that listens gets the folder.
    if (hasCode(error, 'ENOENT')) return;
    throw error;
  }
  try {
    await assertNoListener(aside, folder);
  } catch (error) {
    renameSync(aside, socketPath);
    throw error;
  }
  rmSync(aside);
}

async function assertNoListener(socketPath: string, folder: string): Promise<void> {
  const other = await OperatorSocket.open(socketPath);
  if (other === undefined) return;
  other.close();
  throw alreadyRunning(folder);
}

function alreadyRunning(folder: string, cause?: unknown): StartError {
  return new StartError(
    `Gatepost is already running on the data in ${folder}: stop it first, or choose another GATEPOST_DATA_DIR and GATEPOST_PORT.`,
    { cause },
  );
}

function hasCode(error: unknown, code: string): boolean {
  return (error as NodeJS.ErrnoException).code === code;
}
