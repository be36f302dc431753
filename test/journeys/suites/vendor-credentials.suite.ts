import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import {
  type AppKeys,
  createApplication,
  eventually,
  gatepost,
  type GatepostServer,
  type Json,
  newFolder,
  unique,
  type VendorServices,
} from '#testing';
import { expectRefused } from './refusal.js';

const SECRET = /secret|privateKey|serviceAccount/i;
const pem = (key: KeyObject) =>
  key.export({ type: key.type === 'public' ? 'spki' : 'pkcs8', format: 'pem' }).toString();
const p256 = () => generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
const rsa = () => generateKeyPairSync('rsa', { modulusLength: 2048 });
const secp384 = () => generateKeyPairSync('ec', { namedCurve: 'secp384r1' });

/** Fields that replace those of the stand-in. */
type Changes = (services: VendorServices) => Record<string, string>;

const serviceAccount =
  (change: (account: Json) => Json): Changes =>
  ({ fcm }) => ({ serviceAccount: JSON.stringify(change(JSON.parse(fcm.credentials.serviceAccount) as Json)) });

/** Credentials that cannot work: an operator learns which field is wrong, and where the right one is. */
export function describeVendorCredentials(server: () => GatepostServer, vendors: () => VendorServices): void {
  describe('wrong credentials of vendors', () => {
    let keys: AppKeys;
    let folder: string;
    const vendor = (...args: string[]) => gatepost(server(), 'vendors', ...args);
    const set = (name: string, changes: Readonly<Record<string, string>>, ...options: string[]) => {
      const fields = Object.entries({ ...vendors().credentials[name], ...changes }).map(([field, value]) => {
        if (!SECRET.test(field)) return `${field}=${value}`;
        const file = join(folder, unique(field));
        writeFileSync(file, value);
        return `${field}=@${file}`;
      });
      return vendor('set', keys.id, name, ...fields, ...options);
    };

    beforeAll(async () => {
      folder = newFolder('credentials');
      keys = await createApplication(server());
      await eventually(async () => {
        expect((await set('apns', {})).status).toBe(0);
      });
    });
    afterEach(() => {
      vendors().apns.refusal = undefined;
    });

    it.each<[string, string, Changes, RegExp]>([
      [
        'a team id of nine characters',
        'apns',
        () => ({ teamId: 'TEAM12345' }),
        /teamId: .*developer\.apple\.com, Membership details/,
      ],
      ['a key id in lower case', 'apns', () => ({ keyId: 'key1234567' }), /keyId: .*developer\.apple\.com, Keys/],
      [
        'a topic with a line break',
        'apns',
        () => ({ topics: 'com.example.app\r\nx-header: 1' }),
        /topics: must be 1 to 2048 printable characters/,
      ],
      [
        'a key of another curve',
        'apns',
        () => ({ privateKey: pem(secp384().privateKey) }),
        /privateKey: must be the \.p8 file .*developer\.apple\.com.*P-256/,
      ],
      ['an RSA key', 'apns', () => ({ privateKey: pem(rsa().privateKey) }), /privateKey: must be the \.p8 file/],
      ['a public key', 'apns', () => ({ privateKey: pem(p256().publicKey) }), /privateKey: must be the \.p8 file/],
      [
        'a certificate',
        'apns',
        () => ({ privateKey: '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----' }),
        /privateKey: must be the \.p8 file/,
      ],
      [
        'the file of an app instead of an account',
        'fcm',
        () => ({ serviceAccount: '{"project_info":{"project_id":"p"},"client":[]}' }),
        /serviceAccount: .*Firebase console, Project settings, Service accounts/,
      ],
      [
        'a key that is no RSA key',
        'fcm',
        serviceAccount((account) => ({ ...account, private_key: pem(p256().privateKey) })),
        /serviceAccount: its private_key is not an RSA key.*Firebase console/,
      ],
      [
        'a project with a path',
        'fcm',
        serviceAccount((account) => ({ ...account, project_id: 'p/../q' })),
        /serviceAccount: must be the JSON file/,
      ],
      [
        'an expired service account',
        'fcm',
        serviceAccount((account) => ({ ...account, private_key: pem(rsa().privateKey) })),
        /serviceAccount: Google does not accept it\. Its key may have expired or been deleted: .*Firebase console/,
      ],
      [
        'an id with a line break',
        'huawei',
        () => ({ appId: '1\n2' }),
        /appId: must be letters and digits, as the console of the vendor shows it/,
      ],
      [
        'a host with a path',
        'huawei',
        () => ({ intentHost: 'cn.leancloud.push/x#' }),
        /intentHost: must be a host name such as/,
      ],
      ['an unknown region', 'xiaomi', () => ({ region: 'mars' }), /region: must be cn, global, ru, in or eu/],
      [
        'a package with a blank',
        'xiaomi',
        () => ({ packageName: 'com example' }),
        /packageName: must be a package name such as/,
      ],
      ['a class in lower case', 'vivo', () => ({ category: 'order' }), /category: must be a class such as/],
      [
        'a subject without a scheme',
        'web-push',
        () => ({ subject: 'ops@example.org' }),
        /subject: must be an address such as mailto:/,
      ],
      [
        'a VAPID key of 16 bytes',
        'web-push',
        () => ({ privateKey: 'A'.repeat(22) }),
        /privateKey: must be a private VAPID key: 32 bytes/,
      ],
    ])('are refused when they are set: %s', async (_, name, changes, text) => {
      expectRefused(await set(name, changes(vendors())), text);
      expect((await vendor('list', keys.id)).stdout).toMatch(/^apns TEAM123456\n(?: {2}.*\n)+$/);
    });

    it.each<[string, string, Changes, RegExp]>([
      [
        'a key of another environment',
        'apns',
        ({ apns }) => {
          apns.refusal = { status: 403, reason: 'BadEnvironmentKeyIdInToken' };
          return {};
        },
        /The key is for the other environment: create a key for Sandbox & Production\./,
      ],
      [
        'an app of another team',
        'apns',
        () => ({ topics: 'org.other.app' }),
        /org\.other\.app: The topic is not an app of the team: check topics\./,
      ],
      [
        'the key of another team',
        'apns',
        () => ({ privateKey: pem(p256().privateKey) }),
        /check teamId, keyId and the \.p8 file of this key\./,
      ],
      [
        'an account without the right',
        'fcm',
        serviceAccount((account) => ({ ...account, project_id: 'other-project' })),
        /does not let this account send for the project other-project: enable the Firebase Cloud Messaging API \(V1\) and give the account the role/,
      ],
      [
        'a deleted key',
        'fcm',
        serviceAccount((account) => ({ ...account, private_key: pem(rsa().privateKey) })),
        /generate a new private key in the Firebase console/,
      ],
      [
        'the app secret for the client secret',
        'honor',
        () => ({ clientSecret: 'app-secret' }),
        /does not accept the ids and the secret: compare them with its console/,
      ],
      ['a wrong key', 'xiaomi', () => ({ appSecret: 'other' }), /does not accept the ids and the secret/],
      [
        'the app secret for the master secret',
        'oppo',
        () => ({ masterSecret: 'app-secret' }),
        /does not accept the ids and the secret/,
      ],
    ])('are found by a check: %s', async (_, name, changes, text) => {
      expect((await set(name, changes(vendors()), '--unchecked')).status).toBe(0);
      const { status, stdout, stderr } = await vendor('check', keys.id, name);
      expect([status, stdout]).toEqual([1, expect.stringMatching(text)]);
      expect(stderr).toContain(`These credentials do not work: ${name}`);
    });
  });
}
