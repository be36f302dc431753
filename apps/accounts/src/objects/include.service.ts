import { Injectable } from '@nestjs/common';
import type { JsonObject } from '#contracts';
import { grants } from '../acl/acl.rules.js';
import { objectsAt, parseInclude, pointersAt, type PointerSpot } from './include.rules.js';
import type { ReadObject } from './object-reader.js';
import { ObjectReaders } from './object-readers.js';
import type { Reading, StoredClassName } from './reading.types.js';

const CLASS_NAMES: readonly StoredClassName[] = ['_User', '_Role'];

/** Puts objects into the place of the Pointers to them, where the caller may get them. */
@Injectable()
export class IncludeService {
  constructor(private readonly readers: ObjectReaders) {}

  /** @param objects answers about to be given; they are changed */
  async include(objects: readonly JsonObject[], include: string | undefined, reading: Reading): Promise<void> {
    for (const path of parseInclude(include)) {
      let level = objects;
      for (const field of path) {
        await this.resolve(pointersAt(level, field), reading);
        level = objectsAt(level, field);
      }
    }
  }

  private async resolve(spots: readonly PointerSpot[], reading: Reading): Promise<void> {
    for (const className of CLASS_NAMES.filter((name) => reading.mayGet(name))) {
      const ofClass = spots.filter((spot) => spot.className === className);
      fill(ofClass, await this.findReadable(className, ofClass, reading), reading);
    }
  }

  private async findReadable(
    className: StoredClassName,
    spots: readonly PointerSpot[],
    { scope: { appId, grantees } }: Reading,
  ): Promise<Map<string, ReadObject>> {
    if (spots.length === 0) return new Map();
    const ids = [...new Set(spots.map(({ objectId }) => objectId))];
    const objects = await this.readers.of(className).findMany(appId, ids);
    const readable = objects.filter(({ acl }) => grantees === 'master' || grants(acl, 'read', grantees));
    return new Map(readable.map((object) => [object.objectId, object]));
  }
}

/** The Pointer stays one, with the fields of its object besides. */
function fill(spots: readonly PointerSpot[], found: ReadonlyMap<string, ReadObject>, reading: Reading): void {
  for (const { className, objectId, replace } of spots) {
    const object = found.get(objectId);
    if (object !== undefined) replace({ ...object.present(reading), __type: 'Pointer', className });
  }
}
