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
});
