import type { JsonObject } from '#contracts';
import { isJsonObject } from '#objects';

const PATH_PREFIX = 'authData.';

/** Whether fields of a user say something of its accounts on other platforms: then their way leads over auth-linking. */
export function hasAuthData(fields: JsonObject): boolean {
  return Object.entries(fields).some(([key, value]) => {
    if (key.startsWith(PATH_PREFIX)) return true;
    const isEmpty = value === null || (isJsonObject(value) && Object.keys(value).length === 0);
    return key === 'authData' && !isEmpty;
  });
}
