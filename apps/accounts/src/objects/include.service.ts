import { Injectable } from '@nestjs/common';
import type { JsonObject } from '#contracts';
import { grants, type NameTree } from '#objects';
import { IncludeBudget } from './include-budget.js';
import { objectsAt, parseInclude, pointersAt, type PointerSpot } from './include.rules.js';
import type { ReadObject } from './object-reader.js';
import { ObjectReaders } from './object-readers.js';
import type { Reading, StoredClassName } from './reading.types.js';

const CLASS_NAMES: readonly StoredClassName[] = ['_User', '_Role'];

/** Objects are read so many at a time: what is read is counted before more is. */
const IDS_AT_ONCE = 100;

interface Inclusion {
  readonly reading: Reading;
  readonly budget: IncludeBudget;
}

/** Puts objects into the place of the Pointers to them, where the caller may get them. */
@Injectable()
export class IncludeService {
  constructor(private readonly readers: ObjectReaders) {}

  /**
   * @param objects answers about to be given; they are changed
   * @throws AppError OBJECT_TOO_LARGE where they would grow beyond what an answer can be
   */
  include(objects: readonly JsonObject[], include: string | undefined, reading: Reading): Promise<void> {
    return this.includeTree(objects, parseInclude(include), { reading, budget: new IncludeBudget() });
  }

  private async includeTree(objects: readonly JsonObject[], tree: NameTree, inclusion: Inclusion): Promise<void> {
    for (const [field, below] of tree) {
      await this.resolve(pointersAt(objects, field), inclusion);
      if (below.size > 0) await this.includeTree(objectsAt(objects, field), below, inclusion);
    }
  }

  private async resolve(spots: readonly PointerSpot[], inclusion: Inclusion): Promise<void> {
    for (const className of CLASS_NAMES.filter((name) => inclusion.reading.mayGet(name))) {
      const spotsById = byId(spots.filter((spot) => spot.className === className));
      for (const ids of inPortions([...spotsById.keys()])) {
        const objects = await this.findReadable(className, ids, inclusion.reading);
        objects.forEach((object) => {
          fill(spotsById.get(object.objectId) ?? [], object, inclusion);
        });
      }
    }
  }

  private async findReadable(
    className: StoredClassName,
    ids: readonly string[],
    { scope: { appId, grantees } }: Reading,
  ): Promise<ReadObject[]> {
    const objects = await this.readers.of(className).findMany(appId, ids);
    return objects.filter(({ acl }) => grantees === 'master' || grants(acl, 'read', grantees));
  }
}

function byId(spots: readonly PointerSpot[]): ReadonlyMap<string, readonly PointerSpot[]> {
  const spotsById = new Map<string, PointerSpot[]>();
  for (const spot of spots) {
    const same = spotsById.get(spot.objectId);
    if (same === undefined) spotsById.set(spot.objectId, [spot]);
    else same.push(spot);
  }
  return spotsById;
}

function inPortions(ids: readonly string[]): (readonly string[])[] {
  const count = Math.ceil(ids.length / IDS_AT_ONCE);
  return Array.from({ length: count }, (_, index) => ids.slice(index * IDS_AT_ONCE, (index + 1) * IDS_AT_ONCE));
}

/** The Pointer stays one, with the fields of its object besides. */
function fill(spots: readonly PointerSpot[], object: ReadObject, { reading, budget }: Inclusion): void {
  const shown = object.present(reading);
  budget.spend(spots.length * Buffer.byteLength(JSON.stringify(shown)));
  for (const { className, replace } of spots) replace({ ...shown, __type: 'Pointer', className });
}
