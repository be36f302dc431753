import fc from 'fast-check';
import type { Schema } from '../../apps/gateway/src/openapi/openapi.types.js';

type Schemas = Readonly<Record<string, Schema>>;
type Named = Readonly<Record<string, fc.Arbitrary<unknown>>>;

const MAX_DEPTH = 4;
const MAX_ITEMS = 3;
const MAX_LENGTH = 40;
const FEW = 5;
const MANY = 10_000;
const NAME = /^[a-z][A-Za-z0-9_]{0,8}$/;

/** Values as a JSON schema describes them. Members that are known by name have values that mean something to the server. */
export class SchemaArbitraries {
  constructor(
    private readonly schemas: Schemas,
    private readonly named: Named,
    /** How many of the members that may be left out an object has; any number where nothing is said. */
    private readonly maxOptional = Infinity,
  ) {}

  of(schema: Schema, depth = 0): fc.Arbitrary<unknown> {
    const { $ref, anyOf, enum: listed, const: only } = schema as Described;
    if (depth > MAX_DEPTH) return fc.constant(null);
    if ($ref !== undefined) return this.of({ ...this.#referred($ref), ...without(schema, '$ref') }, depth);
    if (only !== undefined) return fc.constant(only);
    if (listed !== undefined) return fc.constantFrom(...listed);
    if (anyOf !== undefined) return fc.oneof(...anyOf.map((one) => this.of(one, depth)));
    return this.#ofType(schema, depth);
  }

  #ofType(schema: Described, depth: number): fc.Arbitrary<unknown> {
    const types = [schema.type ?? 'any'].flat();
    return fc.oneof(...types.map((type) => this.#ofOneType(type, schema, depth)));
  }

  #ofOneType(type: string, schema: Described, depth: number): fc.Arbitrary<unknown> {
    const number = () => fc.integer({ min: schema.minimum ?? -FEW, max: schema.maximum ?? MANY });
    const kinds: Readonly<Record<string, () => fc.Arbitrary<unknown>>> = {
      object: () => this.#object(schema, depth),
      array: () => this.#list(schema, depth),
      string: () => text(schema),
      boolean: () => fc.boolean(),
      null: () => fc.constant(null),
      integer: number,
      number,
    };
    return (kinds[type] ?? anything)();
  }

  #list({ items = {}, minItems = 0 }: Described, depth: number): fc.Arbitrary<unknown> {
    return fc.array(this.of(items, depth + 1), { minLength: minItems, maxLength: MAX_ITEMS });
  }

  #object(schema: Described, depth: number): fc.Arbitrary<unknown> {
    const members = Object.entries(schema.properties ?? {}).map(
      ([name, member]) => [name, this.named[name] ?? this.of(member, depth + 1)] as const,
    );
    const described = this.#record(Object.fromEntries(members), schema.required ?? []);
    if (schema.additionalProperties === undefined) return described;
    const others = fc.dictionary(fc.stringMatching(NAME), this.of(schema.additionalProperties, depth + 1), {
      maxKeys: 2,
      noNullPrototype: true,
    });
    return fc.tuple(others, described).map(([more, known]) => ({ ...more, ...known }));
  }

  #record(members: Named, required: readonly string[]): fc.Arbitrary<Record<string, unknown>> {
    if (this.maxOptional === Infinity)
      return fc.record(members, { requiredKeys: [...required], noNullPrototype: true });
    const optional = Object.keys(members).filter((name) => !required.includes(name));
    return fc
      .subarray(optional, { maxLength: Math.min(optional.length, this.maxOptional) })
      .chain((names) => fc.record(pick(members, [...required, ...names]), { noNullPrototype: true }));
  }

  #referred(reference: string): Schema {
    const found = this.schemas[reference.split('/').at(-1) ?? ''];
    if (found === undefined) throw new Error(`${reference} leads nowhere`);
    return found;
  }
}

/** The words of JSON Schema that the description uses. */
interface Described {
  readonly $ref?: string;
  readonly anyOf?: readonly Schema[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly items?: Schema;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema;
}

function text({ pattern, format, minLength = 0, maxLength = MAX_LENGTH }: Described): fc.Arbitrary<string> {
  if (format === 'date-time') return fc.date({ noInvalidDate: true }).map((date) => date.toISOString());
  if (pattern !== undefined) return fc.stringMatching(new RegExp(pattern), { size: '-1' });
  return fc.string({ minLength, maxLength: Math.max(minLength, Math.min(maxLength, MAX_LENGTH)), unit: 'grapheme' });
}

/** Valid values of a field; invalid ones come from mutations. */
function anything(): fc.Arbitrary<unknown> {
  const { field } = fc.letrec((tie) => ({
    field: fc.oneof(
      { maxDepth: 2, withCrossShrink: true },
      fc.constantFrom(null, true, 'red', ''),
      fc.string({ maxLength: MAX_LENGTH }),
      fc.integer(),
      fc.array(tie('field'), { maxLength: MAX_ITEMS }),
      fc.dictionary(fc.stringMatching(NAME), tie('field'), { maxKeys: 2, noNullPrototype: true }),
    ),
  }));
  return field;
}

function pick(members: Named, names: readonly string[]): Named {
  return Object.fromEntries(Object.entries(members).filter(([name]) => names.includes(name)));
}

function without(schema: Schema, name: string): Schema {
  return Object.fromEntries(Object.entries(schema).filter(([key]) => key !== name));
}
