import { Reflector } from '@nestjs/core';
import { z } from 'zod';
import type { ErrorName } from '#errors';
import type { Schema } from './openapi.types.js';

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

export type Credentials = 'none' | 'application' | 'session' | 'session or master key' | 'master key';

export interface Answer {
  readonly description: string;
  readonly body?: z.ZodType;
  /** `application/json` unless given. */
  readonly mediaType?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Describes an endpoint. `/openapi.json`, `/docs` and the tables of docs/api.md are generated from it, and tests compare it with the responses. */
export interface EndpointDescription {
  readonly topic: Topic;
  readonly summary: string;
  /** Further information for callers, in whole sentences. */
  readonly description?: string;
  readonly credentials: Credentials;
  /** Parameters of the URL; each field needs a description. */
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType;
  readonly answers: Readonly<Record<number, Answer>>;
  /** The errors of this endpoint, without the common ones (document.ts). */
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

/** The gateway does not start with a route that has no description. Those of health and metrics are in routed-endpoints.ts. */
export const Endpoint = Reflector.createDecorator<EndpointDescription>();

const shapeNames = z.registry<{ name: string }>();

/** Names a schema: the document contains it once and refers to it by this name. */
export function named<T extends z.ZodType>(name: string, schema: T): T {
  shapeNames.add(schema, { name });
  return schema;
}

export class ShapeWriter {
  readonly #named = new Map<string, Schema>();

  get schemas(): Record<string, Schema> {
    return Object.fromEntries([...this.#named].sort(([a], [b]) => a.localeCompare(b)));
  }

  write(shape: z.core.$ZodType): Schema {
    const name = shapeNames.get(shape)?.name;
    if (name === undefined) return this.#convert(shape);
    if (!this.#named.has(name)) this.#named.set(name, this.#convert(shape));
    return { $ref: `#/components/schemas/${name}` };
  }

  #convert(root: z.core.$ZodType): Schema {
    const { $schema: _dialect, ...schema } = z.toJSONSchema(root, {
      io: 'input',
      override: ({ zodSchema, jsonSchema }) => {
        dropNoise(jsonSchema);
        if (zodSchema !== root && shapeNames.has(zodSchema)) replace(jsonSchema, this.write(zodSchema));
      },
    });
    return schema;
  }
}

/** Removes what zod adds to every integer and time: the bounds of safe integers and the pattern of a time. */
function dropNoise(schema: z.core.JSONSchema.BaseSchema): void {
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
  if (schema.format === 'date-time') delete schema.pattern;
}

function replace(target: object, source: object): void {
  for (const key of Object.keys(target)) Reflect.deleteProperty(target, key);
  Object.assign(target, source);
}
