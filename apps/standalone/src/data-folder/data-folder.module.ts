import { rename, rm } from 'node:fs/promises';
import { Controller, type DynamicModule, Inject, Module } from '@nestjs/common';
import { isSocketPathTooLong, operatorSocketPath, StartError } from '#bootstrap';
import { type RpcContract, type RpcData, type RpcReply, storedSecretsRpc } from '#contracts';
import { type AppError, appError, messageOf } from '#errors';
import { OperatorSocket, RpcHandler, type RpcTransport, type ServedOperators, serveOperators } from '#messaging';
import { Readiness } from '#observability';
import { DataFolder } from './data-folder.js';

const IS_FROM_ENVIRONMENT = Symbol('IsSecretFromEnvironment');

/** Replaces the secret in the data folder, in two steps that both take effect at the next start. */
@Controller()
export class StoredSecretsController {
  /** With which this process seals; undefined if the environment sets it. */
  readonly #current: string | undefined;

  constructor(
    private readonly folder: DataFolder,
    @Inject(IS_FROM_ENVIRONMENT) isFromEnvironment: boolean,
  ) {
    this.#current = isFromEnvironment ? undefined : folder.secret();
  }

  /** @throws AppError NO_EFFECT if the environment sets the secret, the previous one is not forgotten yet, or the folder takes no file */
  @RpcHandler(storedSecretsRpc.swap)
  swap(_: RpcData<typeof storedSecretsRpc.swap>): Promise<RpcReply<typeof storedSecretsRpc.swap>> {
    this.#assertStored();
    if (this.folder.acceptedSecrets().length > 0)
      throw refusal('The secret was swapped before: run "secrets rotate", then "secrets forget".');
    try {
      this.folder.swapSecret();
    } catch (cause) {
      throw refusal(`The secret could not be replaced, check the data folder: ${messageOf(cause)}`);
    }
    return Promise.resolve({});
  }

  /** @throws AppError NO_EFFECT if the environment sets the secret, there is none to forget, or this process still seals with it */
  @RpcHandler(storedSecretsRpc.forget)
  forget(_: RpcData<typeof storedSecretsRpc.forget>): Promise<RpcReply<typeof storedSecretsRpc.forget>> {
    this.#assertStored();
    if (this.folder.acceptedSecrets().length === 0) throw refusal('No secret was swapped: there is none to forget.');
    if (this.folder.secret() !== this.#current)
      throw refusal('The old secret is still in use: restart the server, and run "secrets rotate" first.');
    this.folder.forgetAcceptedSecrets();
    return Promise.resolve({});
  }

  #assertStored(): void {
    if (this.#current === undefined)
      throw refusal(
        'The secret is not stored in the data folder: change GATEPOST_SECRET and GATEPOST_ACCEPTED_SECRETS.',
      );
  }
}

function refusal(message: string): AppError {
  return appError('NO_EFFECT', { message });
}

@Module({})
export class DataFolderModule {
  constructor(folder: DataFolder, readiness: Readiness) {
    readiness.register('disk', () => folder.assertRoom());
  }

  static forRoot(folder: DataFolder, isFromEnvironment: boolean): DynamicModule {
    return {
      module: DataFolderModule,
      controllers: [StoredSecretsController],
      providers: [
        { provide: DataFolder, useValue: folder },
        { provide: IS_FROM_ENVIRONMENT, useValue: isFromEnvironment },
      ],
    };
  }
}

/** The operator socket is the lock: it answers as long as its process runs. @throws StartError if another server runs on the folder */
export async function lockDataFolder(
  { path }: DataFolder,
  contracts: readonly RpcContract[],
  requester: () => RpcTransport | undefined,
): Promise<ServedOperators> {
  const socketPath = operatorSocketPath(path);
  if (isSocketPathTooLong(socketPath))
    throw new StartError(`The path ${socketPath} is too long for a socket: choose a shorter GATEPOST_DATA_DIR.`);
  const serve = () => servedUnlessInUse([socketPath, contracts, requester]);
  const served = (await serve()) ?? ((await removeStale(socketPath)) ? await serve() : undefined);
  if (served !== undefined) return served;
  throw new StartError(
    `Gatepost is already running on the data in ${path}: stop it first, or choose another GATEPOST_DATA_DIR and GATEPOST_PORT.`,
  );
}

async function servedUnlessInUse(service: Parameters<typeof serveOperators>): Promise<ServedOperators | undefined> {
  try {
    return await serveOperators(...service);
  } catch (error) {
    if (hasCode(error, 'EADDRINUSE')) return undefined;
    throw error;
  }
}

/** Only one of several starting processes gets the socket of a killed one, and a socket that still answers is moved back. */
async function removeStale(path: string): Promise<boolean> {
  if (await isServed(path)) return false;
  const aside = `${path}.${process.pid}`;
  try {
    await rename(path, aside);
  } catch (error) {
    // Another starting process was faster: the first one that listens gets the path.
    if (hasCode(error, 'ENOENT')) return true;
    throw error;
  }
  const isStale = await isServed(aside).then(
    (is) => !is,
    () => false,
  );
  await (isStale ? rm(aside) : rename(aside, path));
  return isStale;
}

async function isServed(path: string): Promise<boolean> {
  const other = await OperatorSocket.open(path);
  other?.close();
  return other !== undefined;
}

function hasCode(error: unknown, code: string): boolean {
  return (error as NodeJS.ErrnoException).code === code;
}
