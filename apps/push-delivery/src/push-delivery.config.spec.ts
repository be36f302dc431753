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
});
