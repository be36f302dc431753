import fc from 'fast-check';

/** Objects with an id, by their name in paths: `$MY_…` is an object that the request's credentials may use. */
const IDS: Readonly<Record<string, readonly string[]>> = {
  user: ['$MY_USER', '$USER_OTHER', '$USER_ACQUAINTANCE', '$USER_NEIGHBOUR', '$USER_STRANGER'],
  role: ['$MY_ROLE', '$ROLE_STRANGER'],
  installation: ['$MY_INSTALLATION'],
  notification: ['$MY_NOTIFICATION', '$NOTIFICATION_STRANGER'],
  pushmessages: ['$MY_NOTIFICATION', '$NOTIFICATION_STRANGER'],
};
const ALL_IDS = Object.values(IDS).flat();
const NOT_FOUND = 'a'.repeat(24);

/** Values of path parameters, the most likely first. */
export function objectIds(path: string, parameter: string): readonly string[] {
  if (parameter === 'code') return ['000000', '123456'];
  if (parameter === 'token') return ['$LINK_TOKEN', 'x.y.z'];
  const noun = Object.keys(IDS).find((each) => path.toLowerCase().includes(each));
  return [...(noun === undefined ? ALL_IDS : (IDS[noun] ?? [])), NOT_FOUND];
}

const name = () => fc.stringMatching(/^[a-z]{6}[0-9]{6}$/);
const pointer = () =>
  fc.constantFrom(...(IDS['user'] ?? [])).map((objectId) => ({ __type: 'Pointer', className: '_User', objectId }));
const relation = () =>
  fc.record({ __op: fc.constantFrom('AddRelation', 'RemoveRelation'), objects: fc.array(pointer(), { maxLength: 3 }) });
const where = () =>
  fc.oneof(
    fc.dictionary(field(), condition(), { maxKeys: 3, noNullPrototype: true }),
    fc.record({
      $or: fc.array(fc.dictionary(field(), condition(), { maxKeys: 2, noNullPrototype: true }), { maxLength: 3 }),
    }),
  );
const field = () =>
  fc.constantFrom(
    'username',
    'objectId',
    'createdAt',
    'color',
    'count',
    'tags',
    'a.b',
    'email',
    'sessionToken',
    'name',
    'channels',
    'deviceType',
  );
const condition = () =>
  fc.oneof(
    fc.constantFrom('red', 1, true, null),
    fc.record({ $in: fc.array(fc.constantFrom('red', 1), { maxLength: 3 }) }),
    fc.constantFrom(
      { $exists: true },
      { $ne: 'red' },
      { $gt: 1, $lt: 5 },
      { $regex: '^re', $options: 'i' },
      { $all: ['a'] },
      { $size: 1 },
      { $inQuery: { className: '_User', where: { color: 'red' } } },
    ),
  );
const phone = () => fc.integer({ min: 10_000_000, max: 99_999_999 }).map((digits) => `+86139${digits}`);

/** Bodies' members whose values mean something. The description says of them no more than that they are texts. */
export const SENSIBLE_MEMBERS: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  username: fc.oneof(
    { weight: 2, arbitrary: name() },
    { weight: 2, arbitrary: fc.constant('$MY_NAME') },
    { weight: 1, arbitrary: fc.constant('$NAME_ACQUAINTANCE') },
  ),
  password: fc.constantFrom('$MY_PASSWORD', 'correct horse', 'wrong'),
  old_password: fc.constantFrom('$MY_PASSWORD', 'wrong'),
  new_password: fc.constantFrom('$MY_PASSWORD'),
  email: fc.oneof(
    name().map((local) => `${local}@example.com`),
    fc.constantFrom('$EMAIL_SELF', '$EMAIL_ACQUAINTANCE'),
  ),
  mobilePhoneNumber: fc.oneof(phone(), fc.constantFrom('$PHONE_SELF', '$PHONE_ACQUAINTANCE')),
  smsCode: fc.constantFrom('000000', '123456'),
  code: fc.constantFrom('000000', '123456'),
  name: name(),
  installationId: fc.oneof(name(), fc.constant('$MY_DEVICE')),
  deviceToken: name(),
  deviceType: fc.constantFrom('android', 'ios', 'web'),
  objectId: fc.constantFrom(...ALL_IDS),
  users: relation(),
  roles: relation(),
  where: where(),
  path: fc.oneof(
    fc.constantFrom('/1.1/users', '/1.1/roles', '/1.1/installations', '/1.1/users/me', '/1.1/date', '/1.1/push'),
    fc.constantFrom(...ALL_IDS.slice(0, 5)).map((id) => `/1.1/users/${id}`),
  ),
  push_time: fc.constant('$TOMORROW'),
  expiration_interval: fc.integer({ min: 1, max: 1_000 }),
};

/** Parameters of URLs likewise. */
export const SENSIBLE_PARAMETERS: Readonly<Record<string, fc.Arbitrary<string>>> = {
  where: where().map((conditions) => JSON.stringify(conditions)),
  order: fc
    .array(fc.constantFrom('createdAt', '-updatedAt', 'username', 'color', '-a.b'), { maxLength: 3 })
    .map(String),
  keys: fc.array(fc.constantFrom('username', '-color', 'createdAt', 'a.b'), { maxLength: 3 }).map(String),
  include: fc.constantFrom('friend', 'users', 'a.b.c'),
  limit: fc.integer({ min: -1, max: 30 }).map(String),
  skip: fc.integer({ min: 0, max: 30 }).map(String),
  appId: fc.constantFrom('$APP_ID', '$OWN_ID'),
  installationId: fc.constantFrom('$MY_DEVICE'),
  token: fc.constantFrom('$LINK_TOKEN', 'x.y.z'),
};
