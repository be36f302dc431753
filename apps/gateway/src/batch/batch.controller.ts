import { Controller, Inject, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { JSON_TYPE } from '#bootstrap';
import {
  authLinkingRpc,
  type Caller,
  installationsRpc,
  type JsonObject,
  MAX_SAVED_OBJECTS,
  objectsRpc,
  type ObjectWrite,
} from '#contracts';
import { appError, type ErrorName } from '#errors';
import { RpcClient } from '#messaging';
import { installationClass } from '#objects';
import { hasAuthData, limitsOfChange, LOGIN_ERRORS, usersEndpoints } from '../accounts/users.endpoints.js';
import { Forwarder } from '../forwarding/forwarder.js';
import { GATEWAY_CONFIG, type GatewayConfig } from '../gateway.config.js';
import { JsonBody, RequestCaller } from '../http/request.decorators.js';
import { originsOf } from '../http/sub-request.js';
import { installationsEndpoints, Principals, rolesEndpoints } from '../objects/objects.controller.js';
import { describeEndpoints, Endpoint } from '../openapi/endpoint.decorator.js';
import { RequestLimits } from '../rate-limits/request-limits.js';
import { MAX_BATCH_REQUESTS, runBatch } from './batch-run.js';
import { MAX_INTERNAL_ID_LENGTH, parseWrites, resultsById } from './batch-save.js';

const entry = z
  .looseObject({
    method: z.enum(['GET', 'POST', 'PUT', 'DELETE']),
    path: z
      .string()
      .startsWith('/1.1/')
      .describe('The path of the URL, beginning with `/1.1/`, with an optional query.'),
    params: z
      .record(z.string(), z.unknown())
      .optional()
      .describe('Parameters of the URL; values other than strings are sent as JSON.'),
    body: z.record(z.string(), z.unknown()).optional(),
  })
  .describe('One request of the batch.');

const entryResponse = z
  .union([
    z.object({ success: z.unknown() }).describe('The body of the response.'),
    z.object({ error: z.object({ code: z.int(), error: z.string() }) }).describe('The error of the request.'),
  ])
  .describe('The response to one request.');

const write = z
  .looseObject({
    method: z.enum(['POST', 'PUT']),
    path: z
      .string()
      .describe(
        '`/1.1/users`, `/1.1/roles`, `/1.1/installations`, or their paths below `/1.1/classes`; with the id if the method is PUT.',
      ),
    params: z.record(z.string(), z.unknown()).optional().describe('Parameters of the write, such as `fetchWhenSave`.'),
    new: z.boolean().optional().describe('The same as the parameter `new`.'),
    body: z
      .looseObject({
        __internalId: z
          .string()
          .max(MAX_INTERNAL_ID_LENGTH)
          .optional()
          .describe('The key of the result: the id, or the temporary id of a new object.'),
        __children: z
          .array(z.looseObject({ className: z.string(), cid: z.string(), key: z.string() }))
          .optional()
          .describe('Fields (`key`) to set to Pointers to other objects of the request (`cid`).'),
      })
      .describe('The fields to save; any other member is a field.'),
  })
  .describe('A new object, or a change of one.');

const SAVING_ENDPOINTS = [
  usersEndpoints.signUp,
  usersEndpoints.update,
  rolesEndpoints.create,
  rolesEndpoints.update,
  installationsEndpoints.create,
  installationsEndpoints.update,
];

/** Their errors, without those of a login: a batch save cannot log in. */
const savingErrors = SAVING_ENDPOINTS.flatMap(({ errors }) => errors).filter(
  (name) => !(LOGIN_ERRORS as readonly ErrorName[]).includes(name),
);

const FORWARDING_ERRORS = ['FORWARD_FAILED', 'FORWARD_LOOP', 'FORWARD_TIMED_OUT'] as const;

const batchEndpoints = describeEndpoints('Batch', {
  run: {
    summary: 'Send several requests at once',
    description:
      'The requests run one after the other, each like a single request with the headers of the batch. A failed request does not stop the others. A batch cannot contain another batch (code 1).',
    credentials: 'application',
    body: z.looseObject({ requests: z.array(entry).max(MAX_BATCH_REQUESTS) }),
    answers: { 200: { description: 'The responses, in the order of the requests.', body: z.array(entryResponse) } },
    errors: [],
  },
  save: {
    summary: 'Save several objects, all or none',
    description:
      'If a write fails, the response is its error, and nothing is changed. Several changes of one object are applied in their order. Installations cannot be saved together with other objects. A request that names other classes only is forwarded (setting `forwardUrl`).',
    credentials: 'application',
    body: z.looseObject({ requests: z.array(write).max(MAX_SAVED_OBJECTS) }),
    answers: {
      200: {
        description: 'The result of each write, by `__internalId`.',
        body: z.record(z.string(), z.record(z.string(), z.unknown())),
      },
    },
    errors: [...new Set(['NOT_SUPPORTED' as const, ...FORWARDING_ERRORS, ...savingErrors])],
  },
});

const BATCH_ROUTE = '/1.1/batch';

interface SavedObject {
  readonly internalId: string;
  readonly result: JsonObject;
}

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

@Controller('1.1/batch/save')
export class BatchSaveController {
  constructor(
    private readonly rpc: RpcClient,
    private readonly principals: Principals,
    private readonly forwarder: Forwarder,
    private readonly limits: RequestLimits,
  ) {}

  @Post()
  @Endpoint(batchEndpoints.save)
  async save(
    @RequestCaller() caller: Caller,
    @JsonBody() body: JsonObject,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    assertNotWithinBatch(request);
    if (await this.forwarder.forwardSave(request, reply, caller)) return;
    const writes = parseWrites(body);
    await this.limits.countEach(request, reply, writes.map(groupsOf));
    void reply.code(200).send(resultsById(await this.#saveAll(caller, writes)));
  }

  /** @throws AppError NOT_SUPPORTED where the writes belong to several services; else the error of the first write that fails */
  #saveAll(caller: Caller, writes: ObjectWrite[]): Promise<SavedObject[]> {
    if (writes.length === 0) return Promise.resolve([]);
    const count = writes.filter(isInstallation).length;
    if (count === 0) return this.#saveObjects(caller, writes);
    if (count === writes.length) return this.#saveInstallations(caller, writes);
    throw appError('NOT_SUPPORTED', {
      message: 'A batch save cannot contain installations together with other objects.',
    });
  }

  async #saveObjects(caller: Caller, writes: ObjectWrite[]): Promise<SavedObject[]> {
    const isProofNeeded = writes.some(({ className, fields }) => className === '_User' && hasAuthData(fields));
    const contract = isProofNeeded ? authLinkingRpc.saveAll : objectsRpc.saveAll;
    return (await this.rpc.call(contract, { caller, writes })).results;
  }

  async #saveInstallations(caller: Caller, writes: ObjectWrite[]): Promise<SavedObject[]> {
    if (writes.some(({ children }) => children.length > 0))
      throw appError('NOT_SUPPORTED', {
        message: 'In a batch save, an installation cannot reference another object of the same batch.',
      });
    const request = { caller, principal: await this.principals.of(caller), writes };
    return (await this.rpc.call(installationsRpc.saveAll, request)).results;
  }
}

/** The matched route decides, because a URL can be written in several ways. @throws AppError NOT_SUPPORTED */
function assertNotWithinBatch(request: FastifyRequest): void {
  const isWithinBatch = originsOf(request).some(({ routeOptions }) => routeOptions.url === BATCH_ROUTE);
  if (isWithinBatch) throw appError('NOT_SUPPORTED', { message: 'A batch cannot contain another batch.' });
}

function isInstallation({ className }: ObjectWrite): boolean {
  return className === installationClass.name;
}

function groupsOf({ className, objectId, fields }: ObjectWrite): ('signUps' | 'messages' | 'logins')[] {
  if (className !== '_User') return [];
  if (objectId === undefined) return ['signUps'];
  return limitsOfChange(fields);
}
