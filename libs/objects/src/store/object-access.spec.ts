import { expect, it, vi } from 'vitest';
import type { ClassPermissions } from '#contracts';
import { AccessSource, ObjectAccess } from './object-access.js';
import { StoredClasses } from './stored-classes.js';

class SampleSource extends AccessSource {
  readonly principalOf = vi.fn(() => Promise.resolve({ roles: [] }));

  permissionsOf(): Promise<ClassPermissions> {
    return Promise.resolve({} as ClassPermissions);
  }

  hidesContact(): Promise<boolean> {
    return Promise.resolve(false);
  }
}

it('the access of a requester is resolved once, for all of its writes', async () => {
  const source = new SampleSource();
  const access = new ObjectAccess(source, new StoredClasses());
  const requester = { requestId: 'one', appId: 'app', isMaster: false };
  const [first, second] = await Promise.all([access.contextOf(requester), access.contextOf(requester)]);
  expect(second).toBe(first);
  expect(source.principalOf).toHaveBeenCalledTimes(1);
  // The next request of the same caller sees what has changed in between.
  await access.contextOf({ ...requester });
  expect(source.principalOf).toHaveBeenCalledTimes(2);
});
