import { Controller, Delete, Get, HttpCode, HttpStatus, Inject, Post, Put, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { type Caller, type JsonObject, objectsRpc, rolesRpc } from '#contracts';
import { RpcClient } from '#messaging';
import { GATEWAY_CONFIG, type GatewayConfig } from '../gateway.config.js';
import { JsonBody, ObjectId, ObjectIds, QueryParams, RequestCaller } from '../http/request.decorators.js';
import {
  parseCondition,
  parseListQuery,
  parseReadOptions,
  parseWriteOptions,
  returnsNew,
} from '../objects/object.params.js';
import { Endpoint } from '../openapi/endpoint.decorator.js';
import { rolesEndpoints } from './roles.endpoints.js';

/** Roles, under both paths that SDKs use. */
@Controller(['1.1/roles', '1.1/classes/_Role'])
export class RolesController {
  constructor(
    private readonly rpc: RpcClient,
    @Inject(GATEWAY_CONFIG) private readonly config: GatewayConfig,
  ) {}

  @Post()
  @HttpCode(HttpStatus.CREATED)
  @Endpoint(rolesEndpoints.create)
  async create(
    @RequestCaller() caller: Caller,
    @JsonBody() fields: JsonObject,
    @QueryParams() params: Record<string, unknown>,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<JsonObject> {
    const returnNew = returnsNew(params);
    const { objectId, result } = await this.rpc.call(rolesRpc.create, { caller, fields, returnNew });
    void reply.header('location', `${this.config.baseUrl}/1.1/roles/${objectId}`);
    return result;
  }

  @Get()
  @Endpoint(rolesEndpoints.list)
  async list(
    @RequestCaller() caller: Caller,
    @QueryParams() params: Record<string, unknown>,
  ): Promise<{ results: JsonObject[]; count?: number | undefined }> {
    return this.rpc.call(objectsRpc.find, { caller, className: '_Role', ...parseListQuery(params) });
  }

  @Get(':objectId')
  @Endpoint(rolesEndpoints.get)
  async get(
    @RequestCaller() caller: Caller,
    @ObjectId() objectId: string,
    @QueryParams() params: Record<string, unknown>,
  ): Promise<JsonObject> {
    const { role } = await this.rpc.call(rolesRpc.get, { caller, objectId, ...parseReadOptions(params) });
    return role ?? {};
  }

  @Put(':objectId')
  @Endpoint(rolesEndpoints.update)
  async update(
    @RequestCaller() caller: Caller,
    @ObjectId() objectId: string,
    @JsonBody() changes: JsonObject,
    @QueryParams() params: Record<string, unknown>,
  ): Promise<JsonObject> {
    const request = { caller, objectId, changes, ...parseWriteOptions(params) };
    return (await this.rpc.call(rolesRpc.update, request)).result;
  }

  @Delete(':objectId')
  @Endpoint(rolesEndpoints.remove)
  async remove(
    @RequestCaller() caller: Caller,
    @ObjectIds() objectIds: string[],
    @QueryParams() params: Record<string, unknown>,
  ): Promise<JsonObject> {
    return this.rpc.call(rolesRpc.remove, { caller, objectIds, ...parseCondition(params) });
  }
}
