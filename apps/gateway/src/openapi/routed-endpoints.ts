import { RequestMethod, type Type } from '@nestjs/common';
import { METHOD_METADATA, PATH_METADATA } from '@nestjs/common/constants.js';
import { MetadataScanner, Reflector } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { z } from 'zod';
import { OVERRIDE_PATH } from '../http/sub-request.js';
import { describeEndpoints, Endpoint, type EndpointDescription } from './endpoint.decorator.js';

export interface RoutedEndpoint extends EndpointDescription {
  /** Unique: `usersSignUp`. */
  readonly id: string;
  readonly method: string;
  /** In the form of OpenAPI: `/1.1/users/{objectId}`. The first is the path of the specification, the others are aliases. */
  readonly paths: readonly [string, ...string[]];
}

export const ENDPOINTS = Symbol('Endpoints');

const reflector = new Reflector();
const scanner = new MetadataScanner();

export function endpointsOf(controllers: readonly Type[]): RoutedEndpoint[] {
  return controllers.flatMap((controller) => {
    const { prototype } = controller as { prototype: Record<string, object> };
    return scanner.getAllMethodNames(prototype).flatMap((name) => {
      const handler = prototype[name] as () => unknown;
      const description = reflector.get(Endpoint, handler) as EndpointDescription | undefined;
      return description === undefined ? [] : [routed(controller, handler, description)];
    });
  });
}

function routed(controller: Type, handler: () => unknown, description: EndpointDescription): RoutedEndpoint {
  const prefixes = pathsOf(controller);
  const suffixes = pathsOf(handler);
  const [first, ...others] = prefixes.flatMap((prefix) => suffixes.map((suffix) => templateOf(prefix, suffix)));
  if (first === undefined) throw new Error(`${controller.name}.${handler.name} has an @Endpoint, but no route.`);
  return {
    ...description,
    id: idOf(controller.name.replace(/Controller$/, ''), handler.name),
    method: RequestMethod[Reflect.getMetadata(METHOD_METADATA, handler) as RequestMethod],
    paths: [first, ...others],
  };
}

function pathsOf(decorated: object): string[] {
  const paths = Reflect.getMetadata(PATH_METADATA, decorated) as string | string[] | undefined;
  return paths === undefined ? [] : [paths].flat();
}

/** The path of a route in the form of OpenAPI, without the values to which `:name(one|other)` restricts a parameter. */
function templateOf(...parts: string[]): string {
  const segments = parts.flatMap((part) => part.split('/')).filter((segment) => segment !== '');
  return `/${segments.map((segment) => segment.replace(/^:(\w+)(?:\(.*\))?$/, '{$1}')).join('/')}`;
}

function idOf(noun: string, verb: string): string {
  return `${noun.charAt(0).toLowerCase()}${noun.slice(1)}${verb.charAt(0).toUpperCase()}${verb.slice(1)}`;
}

/** Fastify adds HEAD to GET routes, and CORS adds OPTIONS. */
const IMPLIED_METHODS = new Set(['HEAD', 'OPTIONS']);

/** Prevents the server from starting with a route that has no description. */
export function refuseUndescribedRoutes(app: NestFastifyApplication): void {
  const endpoints = app.get<readonly RoutedEndpoint[]>(ENDPOINTS);
  const described = new Set(endpoints.flatMap(({ method, paths }) => paths.map((path) => `${method} ${path}`)));
  const isDescribed = (method: string, url: string) =>
    IMPLIED_METHODS.has(method) || url === OVERRIDE_PATH || described.has(`${method} ${templateOf(url)}`);
  app
    .getHttpAdapter()
    .getInstance()
    .addHook('onRoute', ({ method, url }) => {
      const missing = [method].flat().find((each) => !isDescribed(each, url));
      if (missing !== undefined) throw new Error(`${missing} ${url} has no description. Add @Endpoint to its method.`);
    });
}

const { healthz, readyz, metrics } = describeEndpoints('Service', {
  healthz: {
    summary: 'Check that the process is alive',
    credentials: 'none',
    answers: { 200: { description: 'The process is alive.', body: z.object({ status: z.literal('ok') }) } },
    errors: [],
  },
  readyz: {
    summary: 'Check that the process can serve requests',
    credentials: 'none',
    answers: {
      200: { description: 'The process can serve requests.', body: z.object({ status: z.literal('ready') }) },
      503: {
        description: 'The process cannot serve requests, or drains.',
        body: z.object({ status: z.literal('unavailable'), problems: z.array(z.string()) }),
        headers: { 'Retry-After': 'Seconds.' },
      },
    },
    errors: [],
  },
  metrics: {
    summary: 'Get the metrics of the process',
    credentials: 'none',
    answers: { 200: { description: "Prometheus' text format.", mediaType: 'text/plain' } },
    errors: [],
  },
});

/** The routes that libs/observability adds to every process. */
export const OPERATIONS_ENDPOINTS: readonly RoutedEndpoint[] = [
  { ...healthz, id: 'healthz', method: 'GET', paths: ['/healthz'] },
  { ...readyz, id: 'readyz', method: 'GET', paths: ['/readyz'] },
  { ...metrics, id: 'metrics', method: 'GET', paths: ['/metrics'] },
];
