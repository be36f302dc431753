import type { Schema } from '../openapi.types.js';
import { type Markup, markup, prose } from '../../html/markup.js';

/** The parts of a JSON Schema that zod writes, and the page shows. */
interface ShownSchema {
  readonly $ref?: string;
  readonly type?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, ShownSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: unknown;
  readonly items?: ShownSchema;
  readonly anyOf?: readonly ShownSchema[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly format?: string;
  readonly maxLength?: number;
}

const NAMED = '#/components/schemas/';

/** A shape with a name of its own. */
export function renderShape(name: string, schema: Schema): Markup {
  return markup`<article id="${shapeAnchor(name)}" aria-labelledby="${shapeAnchor(name)}-title">
<h3 id="${shapeAnchor(name)}-title">${name}</h3>
${renderFields(schema)}
</article>
`;
}

/** The fields of an object; of anything else its type. */
export function renderFields(schema: Schema): Markup {
  const { description, properties, required = [], additionalProperties } = schema as ShownSchema;
  if (properties === undefined) return markup`<p>${renderType(schema)} ${prose(description ?? '')}</p>`;
  const rows = Object.entries(properties).map(([name, field]) => renderField(name, field, required.includes(name)));
  const isOpen = typeof additionalProperties === 'object';
  return markup`${description === undefined ? undefined : markup`<p class="quiet">${prose(description)}</p>`}
${rows.length === 0 ? markup`<p class="quiet"><code>{}</code></p>` : markup`<dl>\n${rows}</dl>`}
${isOpen && description === undefined ? markup`<p class="quiet">Other members may be there.</p>` : undefined}`;
}

function renderField(name: string, field: ShownSchema, isRequired: boolean): Markup {
  return markup`<div><dt><code>${name}</code> ${renderType(field)}${isRequired ? undefined : markup`<span class="type">, optional</span>`}</dt><dd>${prose(field.description ?? '')}</dd></div>
`;
}

/** A type in a few words; a shape with a name as a link to it. */
export function renderType(schema: object): Markup {
  return markup`<span class="type">${typeOf(schema)}</span>`;
}

function typeOf(schema: ShownSchema): Markup {
  const { $ref, anyOf, items, const: only, enum: some } = schema;
  if ($ref?.startsWith(NAMED) === true) return linkTo($ref.slice(NAMED.length));
  if (anyOf !== undefined) return joined(anyOf.map(typeOf));
  if (only !== undefined) return literal(only);
  if (some !== undefined) return joined(some.map(literal));
  if (items !== undefined) return markup`list of ${typeOf(items)}`;
  return markup`${schema.format === 'date-time' ? 'time' : (schema.type ?? 'any JSON')}`;
}

function joined(types: readonly Markup[]): Markup {
  return markup`${types.map((type, index) => markup`${index === 0 ? '' : ' or '}${type}`)}`;
}

function literal(value: unknown): Markup {
  return markup`<code>${JSON.stringify(value)}</code>`;
}

function linkTo(name: string): Markup {
  return markup`<a href="#${shapeAnchor(name)}">${name}</a>`;
}

function shapeAnchor(name: string): string {
  return `shape-${name}`;
}
