import { Controller, Delete, Get, Header, HttpCode, HttpStatus, Inject, Post, Put, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { JSON_TYPE } from '#bootstrap';
import { accountsRpc, authLinkingRpc, type Caller, type JsonObject, objectsRpc, type VisibleUser } from '#contracts';
import { RpcClient } from '#messaging';
import { userClass } from '#objects';
import { GATEWAY_CONFIG, type GatewayConfig } from '../gateway.config.js';
import {
  CallerByQuery,
  type CallerQuery,
  IsClassPath,
  JsonBody,
  RequestCaller,
  RequestQuery,
  UserId,
  UserIds,
} from '../http/request.decorators.js';
import { isOn, parseCondition, parseListQuery, parseReadOptions, parseWriteOptions } from '../objects/object.params.js';
import { Endpoint } from '../openapi/endpoint.decorator.js';
import { RateLimited, RateLimitedByBody } from '../rate-limits/request-limits.js';
import { hasAuthData, limitsOfChange, loginEndpoints, usersEndpoints } from './users.endpoints.js';

@Controller(['1.1/users', '1.1/classes/_User'])
export class UsersController {
  constructor(
    private readonly rpc: RpcClient,
    @Inject(GATEWAY_CONFIG) private readonly config: GatewayConfig,
  ) {}

  @Post()
  @RateLimited('signUps')
  @Endpoint(usersEndpoints.signUp)
  async signUp(
    @RequestQuery() { caller, params }: CallerQuery,
    @JsonBody() fields: JsonObject,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<JsonObject> {
    const failOnNotExist = isOn(params, 'failOnNotExist');
    const { user, isNew } = hasAuthData(fields)
      ? await this.rpc.call(authLinkingRpc.signUpOrLogIn, { caller, fields, failOnNotExist })
      : await this.rpc.call(accountsRpc.signUp, { caller, fields });
    void reply
      .code(isNew ? HttpStatus.CREATED : HttpStatus.OK)
      .header('location', `${this.config.baseUrl}/1.1/users/${user.objectId}`);
    return user;
  }

  @Get()
  @Header(...JSON_TYPE)
  @Endpoint(usersEndpoints.list)
  async list(@RequestQuery() { caller, params }: CallerQuery): Promise<string> {
    return this.rpc.callForJson(objectsRpc.find, { caller, className: '_User', ...parseListQuery(params) });
  }

  @Get('me')
  @Endpoint(usersEndpoints.getCurrent)
  async getCurrent(
    @CallerByQuery() caller: Caller,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<JsonObject> {
    const { user } = await this.rpc.call(accountsRpc.getCurrentUser, { caller });
    return withLastModified(reply, user);
  }

  @Get(':objectId')
  @Endpoint(usersEndpoints.get)
  async get(
    @RequestQuery() { caller, params }: CallerQuery,
    @UserId() objectId: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<JsonObject> {
    const { user } = await this.rpc.call(accountsRpc.getUser, { caller, objectId, ...parseReadOptions(params) });
    return withLastModified(reply, user);
  }

  @Put(':objectId')
  @RateLimitedByBody(limitsOfChange)
  @Endpoint(usersEndpoints.update)
  async update(
    @RequestQuery() { caller, params }: CallerQuery,
    @UserId() objectId: string,
    @JsonBody() changes: JsonObject,
    @IsClassPath() isClassPath: boolean,
  ): Promise<JsonObject> {
    const service = hasAuthData(changes) ? authLinkingRpc : accountsRpc;
    if (service === accountsRpc) userClass.parse(changes, caller.isMaster);
    const request = { caller, objectId, changes, ...parseWriteOptions(params) };
    const { result } = await this.rpc.call(service.updateUser, request);
    return isClassPath ? { ...result, objectId } : result;
  }

  @Put(':objectId/refreshSessionToken')
  @Endpoint(usersEndpoints.refreshSessionToken)
  async refreshSessionToken(@RequestCaller() caller: Caller, @UserId() objectId: string): Promise<JsonObject> {
    return (await this.rpc.call(accountsRpc.refreshSessionToken, { caller, objectId })).user;
  }

  @Put(':objectId/updatePassword')
  @RateLimited('logins')
  @Endpoint(usersEndpoints.updatePassword)
  async updatePassword(
    @RequestCaller() caller: Caller,
    @UserId() objectId: string,
    @JsonBody() passwords: JsonObject,
  ): Promise<JsonObject> {
    return (await this.rpc.call(accountsRpc.updatePassword, { caller, objectId, passwords })).result;
  }

  @Delete(':objectId')
  @Endpoint(usersEndpoints.remove)
  async remove(@RequestQuery() { caller, params }: CallerQuery, @UserIds() objectIds: string[]): Promise<JsonObject> {
    return this.rpc.call(objectsRpc.remove, { caller, className: '_User', objectIds, ...parseCondition(params) });
  }
}

function withLastModified(reply: FastifyReply, user: VisibleUser): JsonObject {
  void reply.header('last-modified', new Date(user.updatedAt).toUTCString());
  return user;
}

@Controller('1.1/login')
export class LoginController {
  constructor(private readonly rpc: RpcClient) {}

  @Post()
  @HttpCode(HttpStatus.OK)
  @RateLimited('logins')
  @Endpoint(loginEndpoints.logIn)
  async logIn(@RequestCaller() caller: Caller, @JsonBody() credentials: JsonObject): Promise<JsonObject> {
    return (await this.rpc.call(accountsRpc.logIn, { caller, credentials })).user;
  }

  /** Old SDKs log in by a query; the SDK for PHP still does so with a code. */
  @Get()
  @RateLimited('logins')
  @Endpoint(loginEndpoints.logInByQuery)
  logInByQuery(@RequestQuery() { caller, params }: CallerQuery): Promise<JsonObject> {
    return this.logIn(caller, params as JsonObject);
  }
}
