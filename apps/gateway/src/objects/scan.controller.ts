import { Controller, Get, Header, Param } from '@nestjs/common';
import { z } from 'zod';
import { JSON_TYPE } from '#bootstrap';
import {
  type Caller,
  installationsRpc,
  isObjectId,
  type JsonObject,
  type ObjectListQuery,
  type ObjectsRpc,
  objectsRpc,
} from '#contracts';
import { appError } from '#errors';
import { RpcClient } from '#messaging';
import { installationClass, objectIdSchema, roleClass, userClass } from '#objects';
import { QueryParams, RequestCaller } from '../http/request.decorators.js';
import { describeEndpoints, Endpoint } from '../openapi/endpoint.decorator.js';
import { LIST_ERRORS, listParams } from './object.endpoints.js';
import { parseListQuery } from './object.params.js';

const CONTRACTS: ReadonlyMap<string, ObjectsRpc> = new Map([
  [userClass.name, objectsRpc],
  [roleClass.name, objectsRpc],
  [installationClass.name, installationsRpc],
]);

const scanEndpoints = describeEndpoints('Service', {
  scan: {
    summary: 'Read all objects of a class',
    description:
      'Page by page, by ascending `objectId`, for servers. `className`: `_User`, `_Role` or `_Installation`. Objects that are created meanwhile may be left out.',
    credentials: 'master key',
    query: listParams.pick({ where: true, keys: true, limit: true }).extend({
      cursor: z.string().optional().describe('The `cursor` of the page before.'),
      scan_key: z.string().optional().describe('Only `objectId`, the default.'),
    }),
    answers: {
      200: {
        description: 'A page; `cursor` is `null` on the last.',
        body: z.object({
          results: z.array(z.looseObject({ objectId: objectIdSchema })),
          cursor: objectIdSchema.nullable(),
        }),
      },
    },
    errors: [...LIST_ERRORS, 'FORBIDDEN'],
  },
});

/** All objects of a class for servers, as SDKs scan them. */
@Controller('1.1/scan/classes')
export class ScanController {
  constructor(private readonly rpc: RpcClient) {}

  @Get(':className')
  @Header(...JSON_TYPE)
  @Endpoint(scanEndpoints.scan)
  async scan(
    @RequestCaller() caller: Caller,
    @Param('className') className: string,
    @QueryParams() params: Record<string, unknown>,
  ): Promise<{ results: JsonObject[]; cursor: string | null }> {
    const contract = CONTRACTS.get(className);
    if (contract === undefined) throw appError('NOT_FOUND');
    if (!caller.isMaster) throw appError('FORBIDDEN', { message: 'A scan needs the master key.' });
    const query = parseScan(params);
    const { results } = await this.rpc.call(contract.find, { caller, className, ...query });
    const last = results.length < query.limit ? undefined : results.at(-1)?.['objectId'];
    return { results, cursor: typeof last === 'string' ? last : null };
  }
}

/** @throws AppError INVALID_QUERY */
function parseScan(params: Record<string, unknown>): ObjectListQuery {
  const { cursor, scan_key: key = 'objectId' } = params;
  if (key !== 'objectId') throw appError('INVALID_QUERY', { message: 'scan_key can only be objectId.' });
  const { where = {}, keys, limit } = parseListQuery(params);
  const after = { objectId: { $gt: cursor } };
  if (cursor !== undefined && !(typeof cursor === 'string' && isObjectId(cursor)))
    throw appError('INVALID_QUERY', { message: 'cursor must be that of the page before.' });
  return {
    where: cursor === undefined ? where : { $and: [where, after] },
    order: 'objectId',
    ...(keys === undefined ? {} : { keys }),
    limit,
    skip: 0,
    count: false,
    returnAcl: true,
  };
}
