import { z } from 'zod';
import type { FieldDefinition } from './class-definition.js';
import type { ObjectClass } from './object-class.js';

export const timestampSchema = z.iso.datetime({ precision: 3 });
export const objectIdSchema = z
  .string()
  .regex(/^[0-9A-Za-z_-]{1,64}$/)
  .describe('24 hexadecimal digits if Gatepost created the object; imported objects keep their ids.');
export const aclSchema = z
  .record(z.string(), z.object({ read: z.literal(true).optional(), write: z.literal(true).optional() }))
  .describe('Read and write access, by user id, `*` for all users, or `role:<name>`.');

/** The JSON of an object in responses, for the API reference. */
export function responseSchema({ definition }: ObjectClass, acl: z.ZodType = aclSchema): z.ZodObject {
  const fields = Object.entries<FieldDefinition>(definition.fields)
    .filter(([, { present }]) => present !== 'hidden')
    .map(([name, { schema }]) => [name, schema.optional()]);
  return z
    .looseObject({ objectId: objectIdSchema, createdAt: timestampSchema, updatedAt: timestampSchema })
    .extend({ ...Object.fromEntries(fields), ...formatSchemas(definition, 'responseSchema'), ACL: acl.optional() })
    .describe(`${definition.description} Any other member is a custom field.`);
}

/** The JSON of a request that changes an object, or of one that creates it, for the API reference. */
export function requestSchema(
  { definition }: ObjectClass,
  kind: 'change' | 'create',
  acl: z.ZodType = aclSchema,
): z.ZodObject {
  const isNew = kind === 'create';
  const fields = Object.entries<FieldDefinition>(definition.fields)
    .filter(([, { parse, isForMaster }]) => parse !== undefined && isForMaster !== true)
    .map(([name, field]) => [name, requestField(field, isNew)] as const);
  const relations = Object.entries(definition.relations ?? {}).map(
    ([name, { description }]) => [name, relationSchema(description).optional()] as const,
  );
  const isAclRequired = definition.missingAclError !== undefined;
  const wholeAcl = isAclRequired ? acl : acl.nullable();
  return z
    .looseObject({
      ...Object.fromEntries<z.ZodType>([...fields, ...relations]),
      ...formatSchemas(definition, 'schema'),
      ACL: isNew && isAclRequired ? wholeAcl : wholeAcl.optional(),
    })
    .describe('The fields; any other member is a custom field.');
}

function requestField({ schema, isRemovable, missingError }: FieldDefinition, isNew: boolean): z.ZodType {
  const value = isRemovable === true ? schema.nullable() : schema;
  return isNew && missingError !== undefined ? value : value.optional();
}

function formatSchemas(
  { formats = {} }: ObjectClass['definition'],
  kind: 'schema' | 'responseSchema',
): Record<string, z.ZodType> {
  return Object.fromEntries(Object.entries(formats).map(([name, format]) => [name, format[kind].optional()]));
}

function relationSchema(description: string): z.ZodType {
  return z
    .looseObject({ __op: z.enum(['AddRelation', 'RemoveRelation', 'Batch']).optional() })
    .describe(
      `${description} \`{"__op":"AddRelation","objects":[<Pointer>, …]}\`, \`RemoveRelation\`, or \`Batch\` with both in \`ops\`.`,
    );
}
