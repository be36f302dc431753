import { RequestMethod, type Type } from '@nestjs/common';
import { METHOD_METADATA, PATH_METADATA } from '@nestjs/common/constants.js';
import { MetadataScanner, Reflector } from '@nestjs/core';
import { Endpoint, type EndpointDescription } from './endpoint.decorator.js';

/** An endpoint with the routes that lead to it. */
export interface RoutedEndpoint extends EndpointDescription {
  /** Unique: `usersSignUp`. */
  readonly id: string;
  readonly method: string;
  /** As OpenAPI writes them: `/1.1/users/{objectId}`. The first is the path of the specification, the others are aliases. */
  readonly paths: readonly [string, ...string[]];
}

/** DI token of all endpoints of the gateway, `readonly RoutedEndpoint[]`. */
export const ENDPOINTS = Symbol('Endpoints');

const reflector = new Reflector();
const scanner = new MetadataScanner();

/** The described endpoints of controllers. */
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

/** The path of a route as OpenAPI writes it. */
export function templateOf(...parts: string[]): string {
  const segments = parts.flatMap((part) => part.split('/')).filter((segment) => segment !== '');
  return `/${segments.map((segment) => segment.replace(/^:(\w+)$/, '{$1}')).join('/')}`;
}

function idOf(noun: string, verb: string): string {
  return `${noun.charAt(0).toLowerCase()}${noun.slice(1)}${verb.charAt(0).toUpperCase()}${verb.slice(1)}`;
}
