import { describe, expect, it } from 'vitest';
import { loadConfig } from '#bootstrap';
import { consoleConfig, type ConsoleConfig, consoleEnvironment } from './console.config.js';
import { rightsOf } from './operators/operator.rules.js';

const SECRET = 'a secret of thirty-two characters, or more';
const ISSUER = {
  GATEPOST_CONSOLE_OIDC_ISSUER: 'https://login.example.com/realm/',
  GATEPOST_CONSOLE_OIDC_CLIENT_ID: 'console',
  GATEPOST_CONSOLE_OIDC_CLIENT_SECRET: 'canary of the client',
};

function configOf(env: Readonly<Record<string, string>>): ConsoleConfig {
  return consoleConfig(loadConfig(consoleEnvironment, { GATEPOST_SECRET: SECRET, ...env }));
}

describe('the issuer of operators', () => {
  it('keeps its name letter by letter, and hides the client secret', () => {
    const { oidc } = configOf({ ...ISSUER, GATEPOST_CONSOLE_OIDC_ROLES: 'a b:c:owner, shop@x:support@my-shop' });
    expect(oidc?.issuer).toBe('https://login.example.com/realm/');
    expect(oidc?.roles).toEqual([
      { group: 'a b:c', role: 'owner', appId: null },
      { group: 'shop@x', role: 'support', appId: 'my-shop' },
    ]);
    expect(JSON.stringify(oidc)).not.toContain('canary');
  });

  it.each<[string, Record<string, string>]>([
    ['GATEPOST_CONSOLE_OIDC_ISSUER', { ...ISSUER, GATEPOST_CONSOLE_OIDC_ISSUER: 'http://login.example.com' }],
    ['GATEPOST_CONSOLE_OIDC_ISSUER', { ...ISSUER, GATEPOST_CONSOLE_OIDC_ISSUER: 'https://login.example.com/?a=b' }],
    ['GATEPOST_CONSOLE_OIDC_CLIENT_ID', { ...ISSUER, GATEPOST_CONSOLE_OIDC_CLIENT_ID: '' }],
    ['GATEPOST_CONSOLE_OIDC_CLIENT_SECRET', { ...ISSUER, GATEPOST_CONSOLE_OIDC_CLIENT_SECRET: '' }],
    ['GATEPOST_CONSOLE_OIDC_CLIENT_ID', { GATEPOST_CONSOLE_OIDC_CLIENT_ID: 'console' }],
    ['GATEPOST_CONSOLE_OIDC_ROLES', { ...ISSUER, GATEPOST_CONSOLE_OIDC_ROLES: 'admins:boss' }],
    ['GATEPOST_CONSOLE_OIDC_ROLES', { ...ISSUER, GATEPOST_CONSOLE_OIDC_ROLES: 'admins:owner@my-shop' }],
    ['GATEPOST_CONSOLE_OIDC_ROLES', { GATEPOST_CONSOLE_OIDC_ROLES: 'admins:owner' }],
    ['GATEPOST_CONSOLE_PASSWORDS', { ...ISSUER, GATEPOST_CONSOLE_PASSWORDS: 'no' }],
    ['GATEPOST_CONSOLE_PASSWORDS', { GATEPOST_CONSOLE_PASSWORDS: 'off' }],
  ])('prevents the start by a message that names %s: %o', (name, env) => {
    expect(() => configOf(env)).toThrow(name);
  });

  it('may be on a loopback host without TLS', () => {
    const env = { ...ISSUER, GATEPOST_CONSOLE_OIDC_ISSUER: 'http://localhost:9000', GATEPOST_CONSOLE_PASSWORDS: 'off' };
    expect(configOf(env)).toMatchObject({ passwords: false, oidc: { issuer: 'http://localhost:9000' } });
  });

  it('gives the strongest role for an application, and none without a group', () => {
    const roles = [
      { group: 'dev', role: 'developer', appId: 'shop' },
      { group: 'help', role: 'support', appId: 'shop' },
      { group: 'all', role: 'viewer', appId: null },
    ] as const;
    const grants = [
      { appId: '*', role: 'viewer' },
      { appId: 'shop', role: 'developer' },
    ];
    expect(rightsOf(['all', 'help', 'dev'], roles)).toEqual({ isOwner: false, grants });
    expect(rightsOf(['other'], roles)).toBeUndefined();
  });
});
