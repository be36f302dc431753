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
import { z } from 'zod';
import { JSON_TYPE } from '#bootstrap';
import {
  accountsRpc,
  type Caller,
  includesRpc,
  installationsRpc,
  type JsonObject,
  type ObjectReadOptions,
  type ObjectsRpc,
  objectsRpc,
  type Principal,
} from '#contracts';
import { RpcClient } from '#messaging';
import { ANONYMOUS, installationClass, type ObjectClass, objectIdSchema, requestSchema, roleClass } from '#objects';
import { GATEWAY_CONFIG, type GatewayConfig } from '../gateway.config.js';
import { type CallerQuery, JsonBody, ObjectId, ObjectIds, RequestQuery } from '../http/request.decorators.js';
import { Endpoint } from '../openapi/endpoint.decorator.js';
import { acl, type ObjectEndpoints, objectEndpoints, timestamp } from './object.endpoints.js';
import { parseCondition, parseListQuery, parseReadOptions, parseWriteOptions, returnsNew } from './object.params.js';

@Injectable()
export class Principals {
  constructor(private readonly rpc: RpcClient) {}

  /** Calls accounts only if a session can make a difference. */
  async of(caller: Caller): Promise<Principal> {
    if (caller.isMaster || caller.sessionToken === undefined) return ANONYMOUS;
    return (await this.rpc.call(accountsRpc.resolvePrincipal, { caller })).principal;
  }
}

interface ObjectRoutes {
  /** The name of the controller, from which the ids of its operations follow: `Roles`. */
  readonly name: string;
  readonly objectClass: ObjectClass;
  /** The path in the API, and the one that SDKs use. The first one stands in `Location`. */
  readonly paths: readonly [string, ...string[]];
  readonly contract: ObjectsRpc;
  /** The service has no users: each request carries the principal, and accounts resolves `include`. */
  readonly needsPrincipal?: boolean;
  readonly endpoints: ObjectEndpoints;
}

/** The requests for objects of one class. Its definition parses each body before the service receives it. */
class ObjectRequests {
  readonly #rpc: RpcClient;
  readonly #principals: Principals;
  readonly #baseUrl: string;
  readonly #routes: ObjectRoutes;

  constructor(rpc: RpcClient, principals: Principals, baseUrl: string, routes: ObjectRoutes) {
    this.#rpc = rpc;
    this.#principals = principals;
    this.#baseUrl = baseUrl;
    this.#routes = routes;
  }

  async create({ caller, params }: CallerQuery, fields: JsonObject, reply: FastifyReply): Promise<JsonObject> {
    const { contract, objectClass, paths } = this.#routes;
    objectClass.parseNew(fields, caller.isMaster);
    const request = { ...(await this.#about(caller)), fields, returnNew: returnsNew(params) };
    const { objectId, isNew, result } = await this.#rpc.call(contract.create, request);
    void reply
      .code(isNew ? HttpStatus.CREATED : HttpStatus.OK)
      .header('location', `${this.#baseUrl}/${paths[0]}/${objectId}`);
    return result;
  }

  async list({ caller, params }: CallerQuery): Promise<string> {
    const { contract, needsPrincipal, objectClass } = this.#routes;
    const query = parseListQuery(params);
    const about = await this.#about(caller);
    if (needsPrincipal === true && query.include !== undefined) {
      const { keys: _, include: __, ...list } = query;
      const { results, ...count } = await this.#rpc.call(contract.find, { ...about, ...list });
      return JSON.stringify({ results: await this.#including(caller, results, query), ...count });
    }
    const related = objectClass.queryClass().relations.get(String(params['redirectClassNameForKey']))?.className;
    if (related === undefined) return this.#rpc.callForJson(contract.find, { ...about, ...query });
    const found = await this.#rpc.callForJson(contract.find, { ...about, className: related, ...query });
    return `{"className":"${related}",${found.slice(1)}`;
  }

  async get({ caller, params }: CallerQuery, objectId: string): Promise<JsonObject> {
    const { contract, needsPrincipal } = this.#routes;
    const options = parseReadOptions(params);
    if (needsPrincipal === true && options.include !== undefined) {
      const whole = { ...(await this.#about(caller)), objectId, returnAcl: options.returnAcl };
      const { object } = await this.#rpc.call(contract.get, whole);
      return (await this.#including(caller, [object ?? {}], options))[0] ?? {};
    }
    const { object } = await this.#rpc.call(contract.get, { ...(await this.#about(caller)), objectId, ...options });
    return object ?? {};
  }

  async update({ caller, params }: CallerQuery, objectId: string, changes: JsonObject): Promise<JsonObject> {
    const { contract, objectClass } = this.#routes;
    const options = parseWriteOptions(params);
    objectClass.parse(changes, caller.isMaster);
    const request = { ...(await this.#about(caller)), objectId, changes, ...options };
    return (await this.#rpc.call(contract.update, request)).result;
  }

  async remove({ caller, params }: CallerQuery, objectIds: string[]): Promise<JsonObject> {
    const condition = parseCondition(params);
    return this.#rpc.call(this.#routes.contract.remove, { ...(await this.#about(caller)), objectIds, ...condition });
  }

  async #including(
    caller: Caller,
    objects: JsonObject[],
    { keys, include, returnAcl }: ObjectReadOptions,
  ): Promise<JsonObject[]> {
    const request = { caller, objects, keys, include, returnAcl };
    return (await this.#rpc.call(includesRpc.resolve, request)).objects;
  }

  async #about(caller: Caller): Promise<{ caller: Caller; className: string; principal?: Principal }> {
    const { objectClass, needsPrincipal } = this.#routes;
    const about = { caller, className: objectClass.name };
    return needsPrincipal === true ? { ...about, principal: await this.#principals.of(caller) } : about;
  }
}

/** The controller of a class whose writes need no route of their own. */
export function objectsController(routes: ObjectRoutes): Type {
  @Controller([...routes.paths])
  class ObjectsController {
    readonly #requests: ObjectRequests;

    constructor(rpc: RpcClient, principals: Principals, @Inject(GATEWAY_CONFIG) { baseUrl }: GatewayConfig) {
      this.#requests = new ObjectRequests(rpc, principals, baseUrl, routes);
    }

    @Post()
    @Endpoint(routes.endpoints.create)
    create(
      @RequestQuery() query: CallerQuery,
      @JsonBody() fields: JsonObject,
      @Res({ passthrough: true }) reply: FastifyReply,
    ): Promise<JsonObject> {
      return this.#requests.create(query, fields, reply);
    }

    @Get()
    @Header(...JSON_TYPE)
    @Endpoint(routes.endpoints.list)
    list(@RequestQuery() query: CallerQuery): Promise<string> {
      return this.#requests.list(query);
    }

    @Get(':objectId')
    @Endpoint(routes.endpoints.get)
    get(@RequestQuery() query: CallerQuery, @ObjectId() id: string): Promise<JsonObject> {
      return this.#requests.get(query, id);
    }

    @Put(':objectId')
    @Endpoint(routes.endpoints.update)
    update(
      @RequestQuery() query: CallerQuery,
      @ObjectId() id: string,
      @JsonBody() changes: JsonObject,
    ): Promise<JsonObject> {
      return this.#requests.update(query, id, changes);
    }

    @Delete(':objectId')
    @Endpoint(routes.endpoints.remove)
    remove(@RequestQuery() query: CallerQuery, @ObjectIds() ids: string[]): Promise<JsonObject> {
      return this.#requests.remove(query, ids);
    }
  }
  return Object.defineProperty(ObjectsController, 'name', { value: `${routes.name}Controller` });
}

export const rolesEndpoints = objectEndpoints(roleClass, {
  topic: 'Roles',
  singular: 'a role',
  plural: 'roles',
  fieldErrors: ['INVALID_ROLE_NAME', 'ROLE_ACL_REQUIRED'],
  createErrors: ['UNIQUE_FIELD_TAKEN'],
  descriptions: {
    list: 'The roles of a user: `where={"users":<Pointer>}`. The results omit roles that their ACL hides.',
    update: 'Write access by the ACL of the role includes its members.',
  },
});

export const RolesController = objectsController({
  name: 'Roles',
  objectClass: roleClass,
  paths: ['1.1/roles', '1.1/classes/_Role'],
  contract: objectsRpc,
  endpoints: rolesEndpoints,
});

const MASTER_KEY_BY_DEFAULT = 'For the master key, unless the class permission allows others';
const location = { Location: 'The absolute URL of the installation.' };

export const installationsEndpoints = objectEndpoints(installationClass, {
  topic: 'Installations',
  singular: 'an installation',
  plural: 'installations',
  fieldErrors: ['INVALID_CHANNEL', 'KEY_REQUIRED', 'INVALID_DEVICE_TOKEN'],
  create: {
    summary: 'Register an installation',
    description:
      'Apps send it at every start. It updates the installation with the same `installationId`, else the one with the `objectId` of the body, else the one with the same `deviceToken` and `deviceType`. If two objects belong to one device, the one with the `installationId` stays.',
    body: requestSchema(installationClass, 'create', acl).extend({
      objectId: objectIdSchema.optional().describe('The id of the installation, if the app knows it.'),
    }),
    answers: {
      200: {
        description: 'The installation existed: its id and times.',
        body: z.looseObject({ objectId: objectIdSchema, createdAt: timestamp, updatedAt: timestamp }),
        headers: location,
      },
      201: {
        description: 'The installation is new: its id and time, or the whole installation with `fetchWhenSave`.',
        body: z.looseObject({ objectId: objectIdSchema, createdAt: timestamp }),
        headers: location,
      },
    },
  },
  descriptions: {
    list: `${MASTER_KEY_BY_DEFAULT}: a caller that knows the \`installationId\` of a device can read its messages.`,
    update:
      'If no installation has the id, and the body contains an `installationId` or a `deviceToken`, the device is registered: its existing installation is updated, or a new one gets this id. The response contains the id of that installation.',
    remove: `${MASTER_KEY_BY_DEFAULT}. Waiting messages of the devices are deleted.`,
  },
});

export const InstallationsController = objectsController({
  name: 'Installations',
  objectClass: installationClass,
  paths: ['1.1/installations', '1.1/classes/_Installation'],
  contract: installationsRpc,
  needsPrincipal: true,
  endpoints: installationsEndpoints,
});
