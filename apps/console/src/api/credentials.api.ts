import { z } from 'zod';
import { count, credentialField, givenFields, ofApp, route, storedFields } from './route.js';

const credentialKind = z.object({ kind: z.string(), fields: z.array(credentialField) });
const platform = storedFields.extend({ platform: z.string(), kind: z.string() });
const platformName = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,63}$/, 'must be letters, digits and _');
const provider = storedFields.extend({ kind: z.string() });

const vendorKey = z.strictObject({
  vendor: z.string().max(40),
  profile: z.string().max(64),
  /** Distinguishes credentials of one vendor and profile; usually empty. */
  part: z.string().max(64),
});
const vendor = storedFields.extend(vendorKey.shape);
const vendorLane = z.object({
  /** `<vendor>/<profile>/<part>/<dev or prod>` */
  lane: z.string(),
  isPaused: z.boolean(),
  isDoubted: z.boolean(),
  isTrusted: z.boolean(),
  devices: count,
  /** Since the oldest of them was due. */
  seconds: z.number(),
});

export const credentialsApi = {
  listPlatforms: route({
    method: 'GET',
    path: '/apps/:appId/platforms',
    access: 'settings.read',
    params: ofApp,
    reply: z.object({
      items: z.array(platform),
      accounts: z.array(z.object({ platform: z.string(), verified: count, unverified: count })),
      kinds: z.array(credentialKind),
    }),
  }),
  setPlatform: route({
    method: 'PUT',
    path: '/apps/:appId/platforms/:platform',
    access: 'platforms.write',
    needsProof: true,
    params: ofApp.extend({ platform: platformName }),
    body: z.strictObject({ kind: z.string().max(64), fields: givenFields }),
    reply: z.object({ platform }),
  }),
  removePlatform: route({
    method: 'DELETE',
    path: '/apps/:appId/platforms/:platform',
    access: 'platforms.write',
    needsProof: true,
    params: ofApp.extend({ platform: platformName }),
    reply: z.object({}),
  }),
  getTextMessageProvider: route({
    method: 'GET',
    path: '/apps/:appId/text-message-provider',
    access: 'settings.read',
    params: ofApp,
    reply: z.object({ provider: provider.nullable(), kinds: z.array(credentialKind) }),
  }),
  setTextMessageProvider: route({
    method: 'PUT',
    path: '/apps/:appId/text-message-provider',
    access: 'platforms.write',
    needsProof: true,
    params: ofApp,
    body: z.strictObject({ kind: z.string().max(64), fields: givenFields }),
    reply: z.object({ provider }),
  }),
  removeTextMessageProvider: route({
    method: 'DELETE',
    path: '/apps/:appId/text-message-provider',
    access: 'platforms.write',
    needsProof: true,
    params: ofApp,
    reply: z.object({}),
  }),

  listVendors: route({
    method: 'GET',
    path: '/apps/:appId/vendors',
    access: 'settings.read',
    params: ofApp,
    reply: z.object({
      items: z.array(vendor),
      lanes: z.array(vendorLane),
      senders: count,
      kinds: z.array(credentialKind),
    }),
  }),
  /** `problem`: why the vendor did not reply; null if it has accepted the credentials. Fails if the vendor refuses them. */
  setVendor: route({
    method: 'PUT',
    path: '/apps/:appId/vendors',
    access: 'platforms.write',
    needsProof: true,
    params: ofApp,
    body: vendorKey.omit({ part: true }).extend({ fields: givenFields }),
    reply: z.object({ vendor, problem: z.string().nullable() }),
  }),
  /** Signs in at the vendor without sending to a device. `problem`: null if the credentials work. */
  checkVendor: route({
    method: 'POST',
    path: '/apps/:appId/vendors/check',
    access: 'platforms.write',
    isRead: true,
    params: ofApp,
    body: vendorKey,
    reply: z.object({ problem: z.string().nullable() }),
  }),
  changeVendorLanes: route({
    method: 'POST',
    path: '/apps/:appId/vendors/change',
    access: 'platforms.write',
    params: ofApp,
    body: vendorKey.extend({ change: z.enum(['pause', 'resume', 'trust']) }),
    reply: z.object({}),
  }),
  removeVendor: route({
    method: 'POST',
    path: '/apps/:appId/vendors/remove',
    access: 'platforms.write',
    needsProof: true,
    params: ofApp,
    body: vendorKey,
    reply: z.object({}),
  }),
};
