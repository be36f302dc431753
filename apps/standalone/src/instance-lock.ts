import { rmSync } from 'node:fs';
import type { Server } from 'node:net';
import { StartError } from '#bootstrap';
import { isSocketPathTooLong, operatorSocketPath } from '#config';
import { applicationsRpc } from '#contracts';
import { OperatorSocket, type Requester, serveOperators } from '#messaging';
import type { DataFolder } from './data-folder.js';

/**
 * Takes the data folder for this process. The operator socket is the lock: it is opened before anything else and answers
 * as long as its process lives.
 * @throws StartError where another server runs on the folder
 */
export async function lockDataFolder({ path }: DataFolder, requester: () => Requester | undefined): Promise<Server> {
  const socketPath = operatorSocketPath(path);
  if (isSocketPathTooLong(socketPath))
    throw new StartError(`The path ${socketPath} is too long for a socket: choose a shorter GATEPOST_DATA_DIR.`);
  const listen = () => serveOperators(socketPath, Object.values(applicationsRpc), requester);
  try {
    return await listen();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
  }
  const other = await OperatorSocket.open(socketPath);
  if (other !== undefined) {
    other.close();
    throw new StartError(
      `Gatepost is already running on the data in ${path}: stop it first, or choose another GATEPOST_DATA_DIR and GATEPOST_PORT.`,
    );
  }
  // Its process was killed and could not remove it.
  rmSync(socketPath, { force: true });
  return listen();
}
