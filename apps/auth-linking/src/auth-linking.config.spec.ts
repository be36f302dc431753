import { describe, expect, it } from 'vitest';
import { loadConfig } from '#bootstrap';
import { authLinkingConfig, authLinkingEnvironment } from './auth-linking.config.js';

const configOf = (platformUrls: string) =>
  authLinkingConfig(
    loadConfig(authLinkingEnvironment, { GATEPOST_SECRET: 's'.repeat(32), GATEPOST_PLATFORM_URLS: platformUrls }),
  );

describe('the addresses of platforms', () => {
  it('are given by the key of the platform', () => {
    const { platformUrls } = configOf('weixin=https://a.example/, lc_apple=http://127.0.0.1:1/apple');
    expect([...platformUrls]).toEqual([
      ['weixin', 'https://a.example'],
      ['lc_apple', 'http://127.0.0.1:1/apple'],
    ]);
  });

  it.each(['wexin', '__proto__', ''])('of an unknown platform (%j) stop the start', (name) => {
    expect(() => configOf(`weixin=https://a.example,${name}=https://b.example`)).toThrow(
      /GATEPOST_PLATFORM_URLS: must name platforms \(weixin, /,
    );
  });
});
