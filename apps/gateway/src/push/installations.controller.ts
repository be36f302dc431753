import { Controller, Delete, Get, HttpStatus, Inject, Post, Put, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { type Caller, installationsRpc, type JsonObject } from '#contracts';
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
import { installationsEndpoints } from './installations.endpoints.js';
import { Principals } from './principals.js';

/** Installations, under both paths that SDKs use. */
@Controller(['1.1/installations', '1.1/classes/_Installation'])
export class InstallationsController {
  constructor(
    private readonly rpc: RpcClient,
    private readonly principals: Principals,
    @Inject(GATEWAY_CONFIG) private readonly config: GatewayConfig,
  ) {}

  @Post()
  @Endpoint(installationsEndpoints.register)
  async register(
    @RequestCaller() caller: Caller,
    @JsonBody() fields: JsonObject,
    @QueryParams() params: Record<string, unknown>,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<JsonObject> {
    const principal = await this.principals.of(caller);
    const request = { caller, principal, fields, returnNew: returnsNew(params) };
    const { objectId, isNew, result } = await this.rpc.call(installationsRpc.register, request);
    void reply
      .code(isNew ? HttpStatus.CREATED : HttpStatus.OK)
      .header('location', `${this.config.baseUrl}/1.1/installations/${objectId}`);
    return result;
  }

  @Get()
  @Endpoint(installationsEndpoints.list)
  async list(
    @RequestCaller() caller: Caller,
    @QueryParams() params: Record<string, unknown>,
  ): Promise<{ results: JsonObject[]; count?: number | undefined }> {
    const query = parseListQuery(params);
    return this.rpc.call(installationsRpc.find, { caller, principal: await this.principals.of(caller), ...query });
  }

  @Get(':objectId')
  @Endpoint(installationsEndpoints.get)
  async get(
    @RequestCaller() caller: Caller,
    @ObjectId() objectId: string,
    @QueryParams() params: Record<string, unknown>,
  ): Promise<JsonObject> {
    const options = parseReadOptions(params);
    const principal = await this.principals.of(caller);
    const { installation } = await this.rpc.call(installationsRpc.get, { caller, principal, objectId, ...options });
    return installation ?? {};
  }

  @Put(':objectId')
  @Endpoint(installationsEndpoints.update)
  async update(
    @RequestCaller() caller: Caller,
    @ObjectId() objectId: string,
    @JsonBody() changes: JsonObject,
    @QueryParams() params: Record<string, unknown>,
  ): Promise<JsonObject> {
    const options = parseWriteOptions(params);
    const request = { caller, principal: await this.principals.of(caller), objectId, changes, ...options };
    return (await this.rpc.call(installationsRpc.update, request)).result;
  }

  @Delete(':objectId')
  @Endpoint(installationsEndpoints.remove)
  async remove(
    @RequestCaller() caller: Caller,
    @ObjectIds() objectIds: string[],
    @QueryParams() params: Record<string, unknown>,
  ): Promise<JsonObject> {
    const condition = parseCondition(params);
    const principal = await this.principals.of(caller);
    return this.rpc.call(installationsRpc.remove, { caller, principal, objectIds, ...condition });
  }
}
