// Writes an export as LeanCloud's console makes it: users with password hashes and session tokens, roles with members, installations.
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createWriteStream, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { leancloudHash } from '../../libs/security/src/imported-password.mjs';

/** The first users have a real hash of this password; the others random ones of the same form, because hashing takes 0.5 ms each. */
export const KNOWN_PASSWORD = 'Passw0rd!';
const KNOWN_USERS = 200;
const USERS_PER_FILE = 250_000;
const FIRST_TIME = Date.parse('2019-01-01T00:00:00.000Z');
const MINUTE_MS = 60_000;

export const idOf = (kind, index) => createHash('sha1').update(`${kind} ${index}`).digest('hex').slice(0, 24);

/** @param counts `{users, roles, members, installations}` */
export async function generateExport(folder, counts) {
  mkdirSync(folder, { recursive: true });
  for (let from = 0, part = 0; from < counts.users; from += USERS_PER_FILE, part += 1) {
    const length = Math.min(USERS_PER_FILE, counts.users - from);
    await writeRows(join(folder, `_User.${part}.jsonl`), '_User', length, (index) => userOf(from + index));
  }
  await writeRows(join(folder, '_Role.0.jsonl'), '_Role', counts.roles, roleOf);
  await writeRows(
    join(folder, '_Join__User_users__Role.0.jsonl'),
    '_Join:_User:users:_Role',
    counts.members,
    (index) => ({
      objectId: idOf('join', index),
      owningId: { __type: 'Pointer', className: '_Role', objectId: idOf('role', index % counts.roles) },
      relatedId: { __type: 'Pointer', className: '_User', objectId: idOf('user', index % counts.users) },
    }),
  );
  await writeRows(join(folder, '_Installation.0.jsonl'), '_Installation', counts.installations, installationOf);
}

async function writeRows(file, className, count, rowOf) {
  const out = createWriteStream(file);
  out.write(`#filetype:JSON-streaming {"type":"Class","class":"${className}"}\n`);
  for (let index = 0; index < count; index += 1)
    if (!out.write(`${JSON.stringify(rowOf(index))}\n`)) await once(out, 'drain');
  out.end();
  await once(out, 'close');
}

function timesOf(index) {
  const createdAt = FIRST_TIME + index * MINUTE_MS;
  return { createdAt: new Date(createdAt).toISOString(), updatedAt: new Date(createdAt + MINUTE_MS).toISOString() };
}

export function sessionTokenOf(index) {
  return BigInt(`0x${createHash('sha1').update(`token ${index}`).digest('hex')}`)
    .toString(36)
    .padStart(25, '0')
    .slice(-25);
}

function userOf(index) {
  const salt = createHash('sha256').update(`salt ${index}`).digest('hex').slice(0, 48);
  const isLinked = index % 4 === 3;
  return {
    salt,
    email: `user${index}@example.com`,
    sessionToken: sessionTokenOf(index),
    password: index < KNOWN_USERS ? leancloudHash(salt, KNOWN_PASSWORD) : randomBytes(64).toString('base64'),
    objectId: idOf('user', index),
    username: `imported${index}`,
    ...timesOf(index),
    emailVerified: index % 2 === 0,
    mobilePhoneVerified: false,
    nickname: `User ${index}`,
    level: index % 100,
    ...(isLinked
      ? { authData: { weixin: { openid: `openid-${index}`, access_token: `token-${index}`, expires_in: 7200 } } }
      : {}),
    ACL: { '*': { read: true }, [idOf('user', index)]: { write: true } },
  };
}

function roleOf(index) {
  return {
    name: `role${index}`,
    objectId: idOf('role', index),
    ...timesOf(index),
    ACL: { '*': { read: true } },
    users: { __type: 'Relation', className: '_User' },
    roles: { __type: 'Relation', className: '_Role' },
  };
}

function installationOf(index) {
  const isIos = index % 3 === 0;
  return {
    objectId: idOf('installation', index),
    ...(isIos
      ? {
          deviceType: 'ios',
          deviceToken: createHash('sha256').update(`device ${index}`).digest('hex'),
          apnsTopic: 'com.example.app',
        }
      : { deviceType: 'android', installationId: idOf('device', index), vendor: index % 3 === 1 ? 'lc' : 'HMS' }),
    channels: ['news'],
    valid: true,
    timeZone: 'Asia/Shanghai',
    ...timesOf(index),
  };
}
