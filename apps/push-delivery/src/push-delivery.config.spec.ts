import { describe, expect, it } from 'vitest';
import { ConfigError, loadConfig } from '#bootstrap';
import { connectorEnvironment, pushDeliveryConfig, pushDeliveryEnvironment } from './push-delivery.config.js';

const PRODUCTION = { NODE_ENV: 'production' };

describe('the environment of push-delivery', () => {
  it('must name a database in production', () => {
    expect(() => loadConfig(pushDeliveryEnvironment, PRODUCTION)).toThrow(
      new ConfigError(['DATABASE_URL: must be set in production']),
    );
  });

  it('needs no database in a process that is only a connector', () => {
    const env = loadConfig(connectorEnvironment, { ...PRODUCTION, GATEPOST_PUSH_ROLES: 'connector' });
    expect(pushDeliveryConfig(env).roles).toEqual(new Set(['connector']));
  });

  it('must have the secret of the deployment in every other process', () => {
    const env = loadConfig(pushDeliveryEnvironment, { GATEPOST_PUSH_ROLES: 'connector,sender' });
    expect(() => pushDeliveryConfig(env)).toThrow(/GATEPOST_SECRET: is missing/);
  });

  it('replaces addresses of known services of vendors only', () => {
    const urls = (text: string) =>
      loadConfig(pushDeliveryEnvironment, {
        GATEPOST_SECRET: 'a secret of thirty-two characters, or more',
        GATEPOST_PUSH_VENDOR_URLS: text,
      });
    expect(pushDeliveryConfig(urls('apns=https://localhost:9443')).vendors?.urls).toMatchObject({
      apns: 'https://localhost:9443',
      fcm: 'https://fcm.googleapis.com',
    });
    expect(() => pushDeliveryConfig(urls('apnz=https://localhost'))).toThrow(/must name services \(apns, apns-dev/);
  });

  it('has the windows and connections of vendors, of which each can be changed', () => {
    const GATEPOST_SECRET = 'a secret of thirty-two characters, or more';
    const vendorsWith = (variables: Record<string, string>) =>
      pushDeliveryConfig(loadConfig(pushDeliveryEnvironment, { GATEPOST_SECRET, ...variables })).vendors;
    const changed = vendorsWith({
      GATEPOST_PUSH_VENDOR_WINDOW: 'apns=50,oppo=2',
      GATEPOST_PUSH_VENDOR_CONNECTIONS: 'apns=4',
    });
    expect(changed?.windows).toMatchObject({ apns: 50, oppo: 2, fcm: 500 });
    expect(changed?.connections).toMatchObject({ apns: 4, fcm: 2, 'web-push': 16 });
    expect(() => vendorsWith({ GATEPOST_PUSH_VENDOR_WINDOW: 'apnz=1' })).toThrow(
      /GATEPOST_PUSH_VENDOR_WINDOW: must name services \(apns, fcm/,
    );
    for (const wrong of ['apns', 'apns=0', 'apns=-1', 'apns=10001', 'apns=1;fcm=2'])
      expect(() => vendorsWith({ GATEPOST_PUSH_VENDOR_WINDOW: wrong }), wrong).toThrow(/GATEPOST_PUSH_VENDOR_WINDOW/);
  });
});
