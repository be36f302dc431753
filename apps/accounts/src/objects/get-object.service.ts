import { Injectable } from '@nestjs/common';
import type { Caller, JsonObject, ObjectReadOptions } from '#contracts';
import { grants, pickKeys } from '#objects';
import { ClassAccess } from '../class-permissions/class-access.js';
import { IncludeService } from './include.service.js';
import { ObjectReaders } from './object-readers.js';
import type { StoredClassName } from './reading.types.js';
import { Readings } from './readings.js';

/** GET of one object. */
@Injectable()
export class GetObjectService {
  constructor(
    private readonly classes: ClassAccess,
    private readonly readings: Readings,
    private readonly readers: ObjectReaders,
    private readonly includes: IncludeService,
  ) {}

  /** @returns undefined where there is none, or where its ACL hides it. @throws AppError FORBIDDEN by class permission */
  async get(
    caller: Caller,
    className: StoredClassName,
    objectId: string,
    { keys, include, returnAcl }: ObjectReadOptions,
  ): Promise<JsonObject | undefined> {
    await this.classes.assertMay(caller, 'get', className);
    const reading = await this.readings.of(caller, returnAcl);
    const { appId, grantees } = reading.scope;
    const [object] = await this.readers.of(className).findMany(appId, [objectId]);
    if (object === undefined) return undefined;
    if (grantees !== 'master' && !grants(object.acl, 'read', grantees)) return undefined;
    const shown = object.present(reading);
    await this.includes.include([shown], include, reading);
    return pickKeys(shown, keys);
  }
}
