// The stand-ins of the push services, in a process of their own. It counts what they accept, and keeps nothing of it.
import { VendorServices } from '../../dist/libs/testing/src/vendors/vendor-services.js';
import { now } from '../push/figures.mjs';

const services = await VendorServices.start({ folder: process.env.STAND_INS_FOLDER });
const counts = new Map();
let watched = '';

services.recordWith((vendor, address) => {
  counts.set(vendor, (counts.get(vendor) ?? 0) + 1);
  if (address === watched) process.send({ got: address, at: now() });
});

const commands = {
  /** How Gatepost reaches them. */
  settings: () => ({ env: services.env(), credentials: services.credentials }),
  subscriptions: (count) => Array.from({ length: count }, () => services.subscribeBrowser()),
  /** Reports the time of each message to one device. */
  watch: (address) => {
    watched = address;
  },
  delay: (ms) => {
    services.apns.delayMs = ms;
  },
  /** FCM answers no request, or all of them. */
  silence: (isSilent) => {
    services.fcm.isSilent = isSilent;
  },
  connectionsOfFcm: () => services.fcm.connections,
  count: (vendor) => counts.get(vendor) ?? 0,
};

process.on('message', ({ call, ask, options }) => process.send({ call, answer: commands[ask](options) }));
process.on('disconnect', () => process.exit());
process.send({ call: 0 });
