import { describe, expect, it } from 'vitest';
import { ConfigError, loadConfig } from '#bootstrap';
import { connectorEnvironment, pushDeliveryConfig, pushDeliveryEnvironment } from './push-delivery.config.js';

const PRODUCTION = { NODE_ENV: 'production' };

describe('the environment of push-delivery', () => {
  it('names a database in production', () => {
    expect(() => loadConfig(pushDeliveryEnvironment, PRODUCTION)).toThrow(
      new ConfigError(['DATABASE_URL: must be set in production']),
    );
  });

  it('names none where the process only holds connections', () => {
    const env = loadConfig(connectorEnvironment, { ...PRODUCTION, GATEPOST_PUSH_ROLES: 'connector' });
    expect(pushDeliveryConfig(env).roles).toEqual(new Set(['connector']));
  });
});
