import { describe, expect, it } from 'vitest';
import type { JsonObject } from '#contracts';
import { pickKeys } from './stored-object.js';

const META = { objectId: 'id', createdAt: 'then', updatedAt: 'now' };
const object: JsonObject = {
  ...META,
  color: 'red',
  address: { city: 'Paris', zip: 1 },
  items: [{ name: 'a', size: 1 }, 7],
  friend: { __type: 'Pointer', className: '_User', objectId: 'f', username: 'ada', color: 'blue' },
};

describe('pickKeys', () => {
  it.each<[string[] | undefined, JsonObject]>([
    [undefined, object],
    [[], object],
    [['color'], { ...META, color: 'red' }],
    [['unknown', 'constructor', '__proto__'], META],
    [['address.city'], { ...META, address: { city: 'Paris' } }],
    [['address.city', 'address.zip'], { ...META, address: { city: 'Paris', zip: 1 } }],
    [['color.deeper'], { ...META, color: 'red' }],
    [['items.name'], { ...META, items: [{ name: 'a' }, 7] }],
    [
      ['friend.username'],
      { ...META, friend: { __type: 'Pointer', className: '_User', objectId: 'f', username: 'ada' } },
    ],
    [['-color', '-objectId', '-items', '-friend', '-address.zip'], { ...META, address: { city: 'Paris' } }],
    [['color', '-items', '-friend', '-address'], { ...META, color: 'red' }],
  ])('%j', (keys, expected) => {
    expect(pickKeys(object, keys)).toEqual(expected);
  });
});
