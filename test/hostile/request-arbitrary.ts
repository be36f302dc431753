import fc from 'fast-check';
import type { OpenApiDocument, Parameter } from '../../apps/gateway/src/openapi/openapi.types.js';
import type { DescribedOperation } from '../journeys/suites/api-description.js';
import { HOSTILE_HEADERS } from './corpus/headers.js';
import { HOSTILE_TEXTS } from './corpus/texts.js';
import { CREDENTIALS } from './credentials.js';
import type { HostileRequest } from './hostile-request.js';
import { mutated } from './mutation.js';
import { SchemaArbitraries } from './schema-arbitrary.js';
import { objectIds, SENSIBLE_MEMBERS, SENSIBLE_PARAMETERS } from './sensible-values.js';

const JSON_BODY = { 'content-type': 'application/json' };
const FORM_BODY = { 'content-type': 'application/x-www-form-urlencoded' };

/** Requests to the endpoints of a description: as it says, or so but for one or two places. */
export class RequestArbitraries {
  readonly #values: SchemaArbitraries;
  readonly #fewValues: SchemaArbitraries;

  constructor({ components }: OpenApiDocument) {
    this.#values = new SchemaArbitraries(components.schemas, SENSIBLE_MEMBERS);
    this.#fewValues = new SchemaArbitraries(components.schemas, SENSIBLE_MEMBERS, 1);
  }

  /** A third of the requests is what a client would send: requests that never succeed do not reach the code behind the checks. */
  to(described: DescribedOperation): fc.Arbitrary<HostileRequest> {
    return fc.oneof(
      { weight: 2, arbitrary: this.#strange(described) },
      { weight: 1, arbitrary: this.#usual(described) },
    );
  }

  #usual({ method, path, operation }: DescribedOperation): fc.Arbitrary<HostileRequest> {
    const schema = operation.requestBody?.content['application/json']?.schema;
    const body: fc.Arbitrary<Body | undefined> =
      schema === undefined
        ? this.#body({ method, operation })
        : this.#fewValues.of(schema).map((value) => ({ text: JSON.stringify(value), headers: JSON_BODY }));
    const target = path
      .split('/')
      .map((part) => (part.startsWith('{') ? (objectIds(path, part.slice(1, -1))[0] ?? '') : part))
      .join('/');
    return fc
      .record({ body, as: fc.constantFrom('own session', 'master key of an own application') })
      .map(({ body, as }) => ({
        method,
        target,
        headers: { ...CREDENTIALS[as], ...body?.headers },
        body: body?.text,
        as,
      }));
  }

  #strange(described: DescribedOperation): fc.Arbitrary<HostileRequest> {
    const { method, operation } = described;
    return fc
      .record({
        path: this.#path(described),
        query: this.#query(operation.parameters),
        body: this.#body(described),
        strange: fc.oneof(
          { weight: 12, arbitrary: fc.constant({}) },
          { weight: 1, arbitrary: fc.constantFrom(...HOSTILE_HEADERS) },
        ),
        as: someCredentials(),
      })
      .map(({ path, query, body, strange, as }) => ({
        method,
        target: `${path}${query}`,
        headers: { ...CREDENTIALS[as], ...body?.headers, ...strange },
        body: body?.text,
        as,
      }));
  }

  #path({ path }: DescribedOperation): fc.Arbitrary<string> {
    const parts = path.split('/').map((part) => (part.startsWith('{') ? pathPart(path, part) : fc.constant(part)));
    return fc.tuple(...parts).map((all) => all.join('/'));
  }

  #query(parameters: readonly Parameter[]): fc.Arbitrary<string> {
    const members = parameters
      .filter((parameter) => parameter.in === 'query')
      .map(({ name, schema }) => [name, this.#sometimes(name, schema)] as const);
    return fc.record(Object.fromEntries(members)).map((chosen) => {
      const pairs = Object.entries(chosen).filter((pair): pair is [string, string] => typeof pair[1] === 'string');
      return pairs.length === 0 ? '' : `?${pairs.map((pair) => pair.map(encoded).join('=')).join('&')}`;
    });
  }

  #sometimes(name: string, schema: Parameter['schema']): fc.Arbitrary<string | undefined> {
    const absent = { weight: 2, arbitrary: fc.constant(undefined) };
    return fc.oneof(absent, { weight: 1, arbitrary: this.#parameter(name, schema) });
  }

  #parameter(name: string, schema: Parameter['schema']): fc.Arbitrary<string> {
    const sensible = SENSIBLE_PARAMETERS[name] ?? this.#values.of(schema).map(String);
    return fc.oneof({ weight: 3, arbitrary: sensible }, { weight: 1, arbitrary: fc.constantFrom(...HOSTILE_TEXTS) });
  }

  #body({ method, operation }: Pick<DescribedOperation, 'method' | 'operation'>): fc.Arbitrary<Body | undefined> {
    const schema = operation.requestBody?.content['application/json']?.schema;
    if (schema !== undefined) return mutated(this.#values.of(schema)).map((text) => ({ text, headers: JSON_BODY }));
    return method === 'POST' ? form() : fc.constant(undefined);
  }
}

interface Body {
  readonly text: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** The fields of pages, which no description has. */
function form(): fc.Arbitrary<Body> {
  const value = fc.oneof(fc.string(), fc.constantFrom('$LINK_TOKEN', ...HOSTILE_TEXTS));
  return fc
    .record({ token: value, password: value, email: value, repeated: value }, { requiredKeys: ['token'] })
    .map((fields) => ({
      text: Object.entries(fields)
        .map((pair) => pair.map(encoded).join('='))
        .join('&'),
      headers: FORM_BODY,
    }));
}

function pathPart(path: string, part: string): fc.Arbitrary<string> {
  const ids = objectIds(path, part.slice(1, -1));
  return fc.oneof(
    { weight: 4, arbitrary: fc.constant(ids[0] ?? '') },
    { weight: 3, arbitrary: fc.constantFrom(...ids) },
    { weight: 1, arbitrary: fc.constantFrom(...HOSTILE_TEXTS).map(encoded) },
  );
}

function someCredentials(): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 2, arbitrary: fc.constantFrom('own session', 'master key of an own application') },
    { weight: 1, arbitrary: fc.constantFrom(...Object.keys(CREDENTIALS)) },
  );
}

/** Percent-encodes; what stands for something keeps its $. */
function encoded(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replaceAll('%24', '$').replaceAll("'", '%27');
}
