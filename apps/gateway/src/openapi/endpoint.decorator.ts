import { Reflector } from '@nestjs/core';
import { z } from 'zod';
import type { ErrorName } from '#errors';

/** The parts of the API, in the order of the documentation. */
export const TOPICS = [
  'Users',
  'Phone numbers',
  'E-mail',
  'Roles',
  'Installations',
  'Push',
  'Batch',
  'Pages',
  'Service',
] as const;
export type Topic = (typeof TOPICS)[number];

/** The credentials that an endpoint requires. */
export type Credentials = 'none' | 'application' | 'session' | 'session or master key' | 'master key';

/** A response other than an error. */
export interface Answer {
  readonly description: string;
  /** The JSON body, if there is one. */
  readonly body?: z.ZodType;
  /** `application/json` unless given. */
  readonly mediaType?: string;
  /** Specific headers with their meaning. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Describes an endpoint. `/openapi.json`, `/docs` and the tables of docs/api.md are generated from it, and tests compare it with the responses. */
export interface EndpointDescription {
  readonly topic: Topic;
  /** The purpose in a few words. */
  readonly summary: string;
  /** Further information for callers, in whole sentences. */
  readonly description?: string;
  readonly credentials: Credentials;
  /** Parameters of the URL; each field needs a description. */
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType;
  /** By status. */
  readonly answers: Readonly<Record<number, Answer>>;
  /** The errors of this endpoint, without the common ones (error-responses.ts). */
  readonly errors: readonly ErrorName[];
}

/** Groups the endpoints of a topic; the keys are the names of the controller's methods. */
export function describeEndpoints<Name extends string>(
  topic: Topic,
  endpoints: Readonly<Record<Name, Omit<EndpointDescription, 'topic'>>>,
): Readonly<Record<Name, EndpointDescription>> {
  const entries = Object.entries<Omit<EndpointDescription, 'topic'>>(endpoints);
  return Object.fromEntries(entries.map(([name, endpoint]) => [name, { topic, ...endpoint }])) as Readonly<
    Record<Name, EndpointDescription>
  >;
}

/**
 * Describes the endpoint of a controller's method. The gateway does not start with a route that has no description. The
 * routes of health and metrics are described in routed-endpoints.ts.
 */
export const Endpoint = Reflector.createDecorator<EndpointDescription>();

/** The named schemas. */
export const shapeNames = z.registry<{ name: string }>();

/** Names a schema: the document contains it once and refers to it by this name. */
export function named<T extends z.ZodType>(name: string, schema: T): T {
  shapeNames.add(schema, { name });
  return schema;
}
