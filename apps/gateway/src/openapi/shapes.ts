import { z } from 'zod';
import type { Schema } from './openapi.types.js';

const names = z.registry<{ name: string }>();

/** Gives a shape a name of its own in the document: told once, then referred to. */
export function named<T extends z.ZodType>(name: string, schema: T): T {
  names.add(schema, { name });
  return schema;
}

/** Turns shapes into the document's schemas, and gathers those with a name. */
export class ShapeWriter {
  readonly #named = new Map<string, Schema>();

  /** The named shapes that were written, by name. */
  get schemas(): Record<string, Schema> {
    return Object.fromEntries([...this.#named].sort(([a], [b]) => a.localeCompare(b)));
  }

  /** The schema of a shape, or the reference to it. */
  write(shape: z.core.$ZodType): Schema {
    const name = names.get(shape)?.name;
    if (name === undefined) return this.#convert(shape);
    if (!this.#named.has(name)) this.#named.set(name, this.#convert(shape));
    return { $ref: `#/components/schemas/${name}` };
  }

  #convert(root: z.core.$ZodType): Schema {
    const { $schema: _dialect, ...schema } = z.toJSONSchema(root, {
      io: 'input',
      override: ({ zodSchema, jsonSchema }) => {
        dropNoise(jsonSchema);
        if (zodSchema !== root && names.has(zodSchema)) replace(jsonSchema, this.write(zodSchema));
      },
    });
    return schema;
  }
}

/** zod bounds every integer by what JavaScript can count, and spells out what a time looks like. */
function dropNoise(schema: z.core.JSONSchema.BaseSchema): void {
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
  if (schema.format === 'date-time') delete schema.pattern;
}

function replace(target: object, source: object): void {
  for (const key of Object.keys(target)) Reflect.deleteProperty(target, key);
  Object.assign(target, source);
}
