import { Injectable } from '@nestjs/common';
import {
  authLinkingRpc,
  type Caller,
  installationsRpc,
  type JsonObject,
  objectsRpc,
  type ObjectWrite,
} from '#contracts';
import { appError } from '#errors';
import { RpcClient } from '#messaging';
import { Principals } from '../installations/principals.js';
import { hasAuthData } from '../users/auth-data.js';
import type { ParsedWrite } from './batch-save.js';

interface SavedObject {
  readonly internalId: string;
  readonly result: JsonObject;
}

/** Takes the writes of POST /1.1/batch/save to the one service that can do all of them, or none. */
@Injectable()
export class BatchSaveService {
  constructor(
    private readonly rpc: RpcClient,
    private readonly principals: Principals,
  ) {}

  /** @throws AppError NOT_SUPPORTED where the writes belong to several services; the first write's that cannot be done */
  save(caller: Caller, writes: readonly ParsedWrite[]): Promise<SavedObject[]> {
    const objects = writes.filter(isStoredByAccounts);
    if (objects.length === writes.length) return this.saveObjects(caller, objects);
    if (objects.length === 0) return this.saveInstallations(caller, writes);
    throw appError('NOT_SUPPORTED', { message: 'Installations are saved together with installations only.' });
  }

  private async saveObjects(caller: Caller, writes: ObjectWrite[]): Promise<SavedObject[]> {
    const isProofNeeded = writes.some(({ className, fields }) => className === '_User' && hasAuthData(fields));
    const contract = isProofNeeded ? authLinkingRpc.saveAll : objectsRpc.saveAll;
    return (await this.rpc.call(contract, { caller, writes })).results;
  }

  private async saveInstallations(caller: Caller, parsed: readonly ParsedWrite[]): Promise<SavedObject[]> {
    if (parsed.some(({ children }) => children.length > 0))
      throw appError('NOT_SUPPORTED', { message: 'Installations of a joint save point to none of its objects.' });
    const writes = parsed.map(({ className: _, children: __, ...write }) => write);
    const request = { caller, principal: await this.principals.of(caller), writes };
    return (await this.rpc.call(installationsRpc.saveAll, request)).results;
  }
}

function isStoredByAccounts(write: ParsedWrite): write is ObjectWrite {
  return write.className !== '_Installation';
}
