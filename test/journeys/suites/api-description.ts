import { z } from 'zod';
import type { ObservedAnswer } from '#testing';
import type { OpenApiDocument, Operation, Response, Schema } from '../../../apps/gateway/src/openapi/openapi.types.js';

/** The router takes no longer parts of a path (apps/gateway/src/http-server.ts). */
const MAX_SEGMENT_LENGTH = 16_384;

/** Paths of the real service that stand where ids of users do, and are none (apps/gateway/src/http/request.decorators.ts). */
const NO_USER = /^\/1\.1\/(?:users|classes\/_User)\/(?:strictlyQuery|friendshipRequests|self)(?:\/|$)/;

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

/** An operation of the document with its address. */
export interface DescribedOperation {
  readonly method: Method;
  readonly path: string;
  /** The path that does the same, itself where it is no alias. */
  readonly mainPath: string;
  readonly operation: Operation;
}

/** A server's description of its endpoints, compared with the answers that tests have seen. */
export class ApiDescription {
  readonly operations: readonly DescribedOperation[];
  readonly #parsers = new Map<Schema, z.ZodType>();

  constructor(private readonly document: OpenApiDocument) {
    this.operations = Object.entries(document.paths).flatMap(([path, item]) =>
      Object.entries(item).map(([method, operation]) => ({
        method: method.toUpperCase() as Method,
        path,
        mainPath: operation['x-alias-of'] ?? path,
        operation,
      })),
    );
  }

  /** The operation that a request reached; undefined where there is no such route. */
  find({ method, path }: Pick<ObservedAnswer, 'method' | 'path'>): DescribedOperation | undefined {
    const segments = decodedSegments(path);
    if (segments === undefined) return undefined;
    const matching = this.operations.filter(
      (operation) => operation.method === method && matches(operation.path, segments),
    );
    // As the router does: a path that names a segment goes before one that takes any.
    return matching.sort((a, b) => countParameters(a.path) - countParameters(b.path))[0];
  }

  /** The answers that are described for an operation: `200`, or `400/211`. */
  answersOf({ operation }: DescribedOperation): string[] {
    return Object.entries(operation.responses).flatMap(([status, response]) => {
      const codes = this.#codesOf(this.#resolve(response));
      return codes.length === 0 ? [status] : codes.map((code) => `${status}/${code}`);
    });
  }

  /** The mismatch between a success body and its description; undefined if it matches. */
  mistakeOf({ operation }: DescribedOperation, { status, text }: ObservedAnswer): string | undefined {
    const response = operation.responses[String(status)];
    const schema = response && this.#resolve(response).content?.['application/json']?.schema;
    if (schema === undefined || text === '') return undefined;
    const parser = this.#parsers.get(schema) ?? this.#parserOf(schema);
    this.#parsers.set(schema, parser);
    const { success, error } = parser.safeParse(JSON.parse(text));
    return success ? undefined : z.prettifyError(error);
  }

  #resolve(response: Operation['responses'][string]): Response {
    if (!('$ref' in response)) return response;
    const found = this.document.components.responses[response.$ref.split('/').at(-1) ?? ''];
    if (found === undefined) throw new Error(`${response.$ref} leads nowhere`);
    return found;
  }

  #codesOf(response: Response): number[] {
    const schema = response.content?.['application/json']?.schema as
      | { properties?: { code?: { enum?: number[] } } }
      | undefined;
    return schema?.properties?.code?.enum ?? [];
  }

  #parserOf(schema: Schema): z.ZodType {
    const whole = { ...schema, $defs: this.document.components.schemas };
    const local = JSON.parse(JSON.stringify(whole).replaceAll('#/components/schemas/', '#/$defs/')) as Schema;
    return z.fromJSONSchema(closed(local) as Parameters<typeof z.fromJSONSchema>[0]);
  }
}

/** The schema in which an object has no members but those that it names, unless it says so. */
function closed(schema: unknown): unknown {
  if (typeof schema !== 'object' || schema === null) return schema;
  if (Array.isArray(schema)) return schema.map(closed);
  const members = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, closed(value)]));
  return 'properties' in schema && schema['type' as never] === 'object' && !('additionalProperties' in schema)
    ? { ...members, additionalProperties: false }
    : members;
}

function decodedSegments(path: string): string[] | undefined {
  try {
    const segments = path.split('/').map(decodeURIComponent);
    const isRefused = NO_USER.test(segments.join('/')) || segments.some(({ length }) => length > MAX_SEGMENT_LENGTH);
    return isRefused ? undefined : segments;
  } catch {
    return undefined;
  }
}

function matches(template: string, segments: readonly string[]): boolean {
  const expected = template.split('/');
  return (
    expected.length === segments.length &&
    expected.every((part, index) => (part.startsWith('{') ? segments[index] !== '' : part === segments[index]))
  );
}

function countParameters(template: string): number {
  return template.split('{').length;
}
