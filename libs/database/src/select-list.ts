import { getMetadataArgsStorage } from 'typeorm';

interface SelectListOptions {
  /** Properties to leave out. */
  readonly except?: readonly string[];
  /** Table or alias that qualifies the columns. */
  readonly table?: string;
}

/** The columns of an entity for a hand-written SELECT: `object_id AS "objectId", …`, in the order of the entity's properties. */
export function selectList(entity: abstract new () => object, { except = [], table }: SelectListOptions = {}): string {
  const prefix = table === undefined ? '' : `${table}.`;
  return getMetadataArgsStorage()
    .filterColumns(entity)
    .filter(({ propertyName }) => !except.includes(propertyName))
    .map(({ propertyName, options }) => `${prefix}${options.name ?? propertyName} AS "${propertyName}"`)
    .join(', ');
}
