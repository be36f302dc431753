import {
  Controller,
  Delete,
  Get,
  Header,
  HttpStatus,
  Inject,
  Injectable,
  Post,
  Put,
  Res,
  type Type,
} from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { JSON_TYPE } from '#bootstrap';
import { accountsRpc, type Caller, type JsonObject, type ObjectsRpc, type Principal } from '#contracts';
import { RpcClient } from '#messaging';
import { ANONYMOUS, type ObjectClass } from '#objects';
import { GATEWAY_CONFIG, type GatewayConfig } from '../gateway.config.js';
import { JsonBody, ObjectId, ObjectIds, QueryParams, RequestCaller } from '../http/request.decorators.js';
import { Endpoint } from '../openapi/endpoint.decorator.js';
import type { ObjectEndpoints } from './object.endpoints.js';
import { parseCondition, parseListQuery, parseReadOptions, parseWriteOptions, returnsNew } from './object.params.js';

/** Resolves the principal of a request for services that have no users. */
@Injectable()
export class Principals {
  constructor(private readonly rpc: RpcClient) {}

  /** Calls accounts only if a session can make a difference. */
  async of(caller: Caller): Promise<Principal> {
    if (caller.isMaster || caller.sessionToken === undefined) return ANONYMOUS;
    return (await this.rpc.call(accountsRpc.resolvePrincipal, { caller })).principal;
  }
}

/** The routes of one class. */
interface ObjectRoutes {
  /** The name of the controller, from which the ids of its operations follow: `Roles`. */
  readonly name: string;
  readonly objectClass: ObjectClass;
  /** The path in the API, and the one that SDKs use. The first one stands in `Location`. */
  readonly paths: readonly [string, ...string[]];
  /** The RPCs of the service that stores the class. */
  readonly contract: ObjectsRpc;
  /** The service has no users: each request carries the principal. */
  readonly needsPrincipal?: boolean;
  readonly endpoints: ObjectEndpoints;
}

/** The controller of a class whose writes need no route of their own. Its definition parses each body before the service receives it. */
// eslint-disable-next-line max-lines-per-function -- decorators need the endpoints, so the whole class stands in the function
export function objectsController({
  name,
  objectClass,
  paths,
  contract,
  needsPrincipal = false,
  endpoints,
}: ObjectRoutes): Type {
  @Controller([...paths])
  class ObjectsController {
    constructor(
      private readonly rpc: RpcClient,
      private readonly principals: Principals,
      @Inject(GATEWAY_CONFIG) private readonly config: GatewayConfig,
    ) {}

    @Post()
    @Endpoint(endpoints.create)
    async create(
      @RequestCaller() caller: Caller,
      @JsonBody() fields: JsonObject,
      @QueryParams() params: Record<string, unknown>,
      @Res({ passthrough: true }) reply: FastifyReply,
    ): Promise<JsonObject> {
      objectClass.parseNew(fields, caller.isMaster);
      const request = { ...(await this.about(caller)), fields, returnNew: returnsNew(params) };
      const { objectId, isNew, result } = await this.rpc.call(contract.create, request);
      void reply
        .code(isNew ? HttpStatus.CREATED : HttpStatus.OK)
        .header('location', `${this.config.baseUrl}/${paths[0]}/${objectId}`);
      return result;
    }

    @Get()
    @Header(...JSON_TYPE)
    @Endpoint(endpoints.list)
    async list(@RequestCaller() caller: Caller, @QueryParams() params: Record<string, unknown>): Promise<string> {
      const query = parseListQuery(params);
      return this.rpc.callForJson(contract.find, { ...(await this.about(caller)), ...query });
    }

    @Get(':objectId')
    @Endpoint(endpoints.get)
    async get(
      @RequestCaller() caller: Caller,
      @ObjectId() objectId: string,
      @QueryParams() params: Record<string, unknown>,
    ): Promise<JsonObject> {
      const options = parseReadOptions(params);
      const { object } = await this.rpc.call(contract.get, { ...(await this.about(caller)), objectId, ...options });
      return object ?? {};
    }

    @Put(':objectId')
    @Endpoint(endpoints.update)
    async update(
      @RequestCaller() caller: Caller,
      @ObjectId() objectId: string,
      @JsonBody() changes: JsonObject,
      @QueryParams() params: Record<string, unknown>,
    ): Promise<JsonObject> {
      const options = parseWriteOptions(params);
      objectClass.parse(changes, caller.isMaster);
      const request = { ...(await this.about(caller)), objectId, changes, ...options };
      return (await this.rpc.call(contract.update, request)).result;
    }

    @Delete(':objectId')
    @Endpoint(endpoints.remove)
    async remove(
      @RequestCaller() caller: Caller,
      @ObjectIds() objectIds: string[],
      @QueryParams() params: Record<string, unknown>,
    ): Promise<JsonObject> {
      const condition = parseCondition(params);
      return this.rpc.call(contract.remove, { ...(await this.about(caller)), objectIds, ...condition });
    }

    private async about(caller: Caller): Promise<{ caller: Caller; className: string; principal?: Principal }> {
      const className = objectClass.name;
      return needsPrincipal
        ? { caller, className, principal: await this.principals.of(caller) }
        : { caller, className };
    }
  }
  Object.defineProperty(ObjectsController, 'name', { value: `${name}Controller` });
  return ObjectsController;
}
