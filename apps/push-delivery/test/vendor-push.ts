import type { VendorPush } from '../src/vendors/vendor-channel.rules.js';

/** A push of one text that expires in an hour. */
export const PUSH: VendorPush = {
  appId: 'a',
  objectId: 'p',
  data: {},
  message: { body: '{"alert":"hello"}', bodies: {} },
  prod: 'prod',
  expiresAt: new Date(Date.now() + 3_600_000),
  keyNo: 0,
  isRepeat: false,
};
