export { dateOf } from './date-value.js';
export { assertNestedKey, invalidFieldName, isFieldName, reachesPrototype } from './field-name.js';
export { type GeoPoint, geoPointOf } from './geo-point-value.js';
export { isJsonObject } from './json-object.js';
export { parseValue } from './parse-value.js';
export { parsePointer, type Pointer } from './pointer-value.js';
export { isStorableText } from './storable-text.js';
