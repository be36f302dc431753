import { Controller, HttpCode, HttpStatus, Inject, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { JSON_TYPE } from '#bootstrap';
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
import { installationClass } from '#objects';
import { hasAuthData, setsEmail } from '../accounts/user.schemas.js';
import { GATEWAY_CONFIG, type GatewayConfig } from '../gateway.config.js';
import { JsonBody, RequestCaller } from '../http/request.decorators.js';
import { originsOf } from '../http/sub-request.js';
import { Endpoint } from '../openapi/endpoint.decorator.js';
import { Principals } from '../objects/objects.controller.js';
import { RequestLimits } from '../rate-limits/request-limits.js';
import { runBatch } from './batch-run.js';
import { parseWrites, resultsById } from './batch-save.js';
import { batchEndpoints } from './batch.endpoints.js';

const BATCH_ROUTE = '/1.1/batch';

interface SavedObject {
  readonly internalId: string;
  readonly result: JsonObject;
}

/** Runs the requests of a batch one by one. */
@Controller('1.1/batch')
export class BatchController {
  constructor(@Inject(GATEWAY_CONFIG) private readonly config: Pick<GatewayConfig, 'batchTimeoutMs'>) {}

  @Post()
  @Endpoint(batchEndpoints.run)
  async run(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    assertNotWithinBatch(request);
    const response = await runBatch(request, this.config.batchTimeoutMs);
    void reply
      .code(200)
      .header(...JSON_TYPE)
      .send(response);
  }
}

/** Saves the objects of a batch save in one transaction. */
@Controller('1.1/batch/save')
export class BatchSaveController {
  constructor(
    private readonly rpc: RpcClient,
    private readonly principals: Principals,
    private readonly limits: RequestLimits,
  ) {}

  @Post()
  @HttpCode(HttpStatus.OK)
  @Endpoint(batchEndpoints.save)
  async save(
    @RequestCaller() caller: Caller,
    @JsonBody() body: JsonObject,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<JsonObject> {
    assertNotWithinBatch(request);
    const writes = parseWrites(body);
    if (writes.length === 0) return {};
    await this.limits.countEach(request, reply, writes.map(groupsOf));
    return resultsById(await this.saveAll(caller, writes));
  }

  /** @throws AppError NOT_SUPPORTED where the writes belong to several services; else the error of the first write that fails */
  private saveAll(caller: Caller, writes: ObjectWrite[]): Promise<SavedObject[]> {
    const count = writes.filter(isInstallation).length;
    if (count === 0) return this.saveObjects(caller, writes);
    if (count === writes.length) return this.saveInstallations(caller, writes);
    throw appError('NOT_SUPPORTED', {
      message: 'A batch save cannot contain installations together with other objects.',
    });
  }

  private async saveObjects(caller: Caller, writes: ObjectWrite[]): Promise<SavedObject[]> {
    const isProofNeeded = writes.some(({ className, fields }) => className === '_User' && hasAuthData(fields));
    const contract = isProofNeeded ? authLinkingRpc.saveAll : objectsRpc.saveAll;
    return (await this.rpc.call(contract, { caller, writes })).results;
  }

  private async saveInstallations(caller: Caller, writes: ObjectWrite[]): Promise<SavedObject[]> {
    if (writes.some(({ children }) => children.length > 0))
      throw appError('NOT_SUPPORTED', {
        message: 'In a batch save, an installation cannot reference another object of the same batch.',
      });
    const request = { caller, principal: await this.principals.of(caller), writes };
    return (await this.rpc.call(installationsRpc.saveAll, request)).results;
  }
}

/**
 * Compares the matched route, because a URL can be written in several ways.
 * @throws AppError NOT_SUPPORTED
 */
function assertNotWithinBatch(request: FastifyRequest): void {
  const isWithinBatch = originsOf(request).some(({ routeOptions }) => routeOptions.url === BATCH_ROUTE);
  if (isWithinBatch) throw appError('NOT_SUPPORTED', { message: 'A batch cannot contain another batch.' });
}

function isInstallation({ className }: ObjectWrite): boolean {
  return className === installationClass.name;
}

/** Each write counts like a single request. */
function groupsOf({ className, objectId, fields }: ObjectWrite): ['signUps' | 'messages'] | [] {
  if (className !== '_User') return [];
  if (objectId === undefined) return ['signUps'];
  return setsEmail(fields) ? ['messages'] : [];
}
