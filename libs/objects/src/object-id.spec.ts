import { describe, expect, it } from 'vitest';
import { newObjectId } from './stored-object.js';

describe('newObjectId', () => {
  it('makes 24 hexadecimal digits that grow with the time', () => {
    const [earlier, later] = [newObjectId(new Date(1_000_000)), newObjectId(new Date(2_000_000))];
    expect(earlier).toMatch(/^[0-9a-f]{24}$/);
    expect(earlier < later).toBe(true);
  });
});
