import { invalidFieldName, isFieldName, reachesPrototype } from '#object-values';
import { BOUNDS, invalidQuery } from './bounds.js';
import type { FieldPath } from './query.js';

/** None of these characters means anything in a JSON path's quoted name. */
const STEP = /^[\p{L}\p{M}\p{N}_-]+$/u;
const PLACE = /^(?:0|[1-9]\d{0,8})$/;

/** Reads `field` or `field.member.0`. @throws AppError INVALID_KEY_NAME; INVALID_QUERY where it is too long */
export function parsePath(text: string): FieldPath {
  if (text.length > BOUNDS.pathCharacters)
    throw invalidQuery(`The path of a field may have ${BOUNDS.pathCharacters} characters at most.`);
  const [field = '', ...steps] = text.split('.');
  if (steps.length >= BOUNDS.pathSteps)
    throw invalidQuery(`The path of a field may have ${BOUNDS.pathSteps} parts at most.`);
  if (!isFieldName(field) || !steps.every(isStep)) throw invalidFieldName(text);
  return [field, ...steps];
}

/** Whether the step can be a place in a list; it may be the name of a member too. */
export function isPlace(step: string): boolean {
  return PLACE.test(step);
}

function isStep(step: string): boolean {
  return STEP.test(step) && !reachesPrototype(step);
}
