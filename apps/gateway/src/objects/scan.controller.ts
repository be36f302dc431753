import { Controller, Get, Header, Param } from '@nestjs/common';
import { z } from 'zod';
import { JSON_TYPE } from '#bootstrap';
import {
  type Caller,
  CLASS_NAMES,
  type ClassName,
  installationsRpc,
  isObjectId,
  type JsonObject,
  type ObjectListQuery,
  type ObjectsRpc,
  objectsRpc,
} from '#contracts';
import { appError } from '#errors';
import { RpcClient } from '#messaging';
import { objectIdSchema } from '#objects';
import { QueryParams, RequestCaller } from '../http/request.decorators.js';
import { describeEndpoints, Endpoint } from '../openapi/endpoint.decorator.js';
import { LIST_ERRORS, listParams } from './object.endpoints.js';
import { parseListQuery } from './object.params.js';

const CONTRACTS: Readonly<Record<ClassName, ObjectsRpc>> = {
  _User: objectsRpc,
  _Role: objectsRpc,
  _Installation: installationsRpc,
};

const scanEndpoints = describeEndpoints('Service', {
  scan: {
    summary: 'Read all objects of a class',
    description: 'Page by page, the oldest first, for servers. `className`: `_User`, `_Role` or `_Installation`.',
    credentials: 'master key',
    query: listParams.pick({ where: true, keys: true, limit: true }).extend({
      cursor: z.string().optional().describe('The `cursor` of the page before.'),
      scan_key: z.string().optional().describe('`createdAt`, the default, or `objectId` with the same order.'),
    }),
    answers: {
      200: {
        description: 'A page; `cursor` is `null` on the last.',
        body: z.object({
          results: z.array(z.looseObject({ objectId: objectIdSchema })),
          cursor: z.string().nullable(),
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

  /** The route takes no other class, so that scans of other classes are forwarded. */
  @Get(`:className(${CLASS_NAMES.join('|')})`)
  @Header(...JSON_TYPE)
  @Endpoint(scanEndpoints.scan)
  async scan(
    @RequestCaller() caller: Caller,
    @Param('className') className: ClassName,
    @QueryParams() params: Record<string, unknown>,
  ): Promise<{ results: JsonObject[]; cursor: string | null }> {
    if (!caller.isMaster) throw appError('FORBIDDEN', { message: 'A scan needs the master key.' });
    const query = parseScan(params);
    const { results } = await this.rpc.call(CONTRACTS[className].find, { caller, className, ...query });
    const last = results.length < query.limit ? undefined : results.at(-1);
    return {
      results,
      cursor: last === undefined ? null : `${last['createdAt'] as string}_${last['objectId'] as string}`,
    };
  }
}

const SCAN_KEYS: readonly unknown[] = [undefined, 'createdAt', 'objectId'];
const CURSOR = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)_([A-Za-z0-9_-]{1,64})$/;

function parseScan({ cursor, scan_key: key, where, keys, limit }: Record<string, unknown>): ObjectListQuery {
  if (!SCAN_KEYS.includes(key)) throw appError('INVALID_QUERY', { message: 'scan_key must be createdAt or objectId.' });
  return {
    ...parseListQuery({ where, keys, limit }),
    ...(cursor === undefined ? {} : { after: parseCursor(cursor) }),
    order: 'createdAt,objectId',
    returnAcl: true,
  };
}

function parseCursor(cursor: unknown): ObjectListQuery['after'] {
  const [, createdAt = '', objectId = ''] = CURSOR.exec(String(cursor)) ?? [];
  const time = new Date(createdAt);
  if (!isObjectId(objectId) || Number.isNaN(time.getTime()) || time.toISOString() !== createdAt)
    throw appError('INVALID_QUERY', { message: 'cursor must be that of the page before.' });
  return { createdAt, objectId };
}
