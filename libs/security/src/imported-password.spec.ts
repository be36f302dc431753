import { describe, expect, it } from 'vitest';
import { importedBcryptHash, leancloudHash } from './imported-password.mjs';

describe("LeanCloud's password hash", () => {
  // The first one stands in LeanCloud's documentation.
  it.each([
    [
      'h60d8x797d3oa0naxybxxv9bn7xpt2yiowz68mpiwou7gwr2',
      'password',
      'tA7BLW+NK0UeARng0693gCaVnljkglCB9snqlpCSUKjx2RgYp8VZZOQt0S5iUtlDrkJXfT3gknS4rRqjYsd/Ug==',
    ],
    [
      'k3m9x0c7v1b5n2a8s6d4f0g7h3j1l9q5w2e8r6t0y4u7i1o3',
      'Passw0rd!',
      'tPgez79nTsL63aY6nmuin7Cps3Hg1L5TqM17SPNM+u1QcBIVHwGpf/RY9ME7UZ5+Pfb5w7Kdz5WuHP4JLlsj/w==',
    ],
    [
      'z9y8x7w6v5u4t3s2r1q0p9o8n7m6l5k4j3i2h1g0f9e8d7c6',
      '密码测试🔑',
      'P4PvBg5kdsvpIK40uAJF5tAVH6BmAZ+gUCBEw2Iw06kHr10xmhLO0daQNhcKDH3P8+PnW97jaxPowjaVq9/Ocw==',
    ],
    ['', 'password', 'dO4CRO0JDywUiJBVAui+JRNkC7jTkkLgxG9Ynm3dQFs0r9UMNa+fiK2md8Nut4oBU7BmIG6F9meSlaGXkLzjWg=='],
  ])('of salt "%s" and password "%s"', (salt, password, hash) => {
    expect(leancloudHash(salt, password)).toBe(hash);
    expect(leancloudHash(salt, `${password} `)).not.toBe(hash);
  });

  it('has a salt of text, whose UTF-8 bytes count', () => {
    expect(leancloudHash('a', 'bc')).toBe(leancloudHash('ab', 'c'));
    expect(leancloudHash('盐', 'p')).not.toBe(leancloudHash('?', 'p'));
  });
});

describe('the version of a bcrypt hash', () => {
  it.each([
    ['$2x$10$abc', '$2b$10$abc'],
    ['$2y$10$abc', '$2b$10$abc'],
    ['$2a$10$abc', '$2a$10$abc'],
    ['$2b$10$x$2y$', '$2b$10$x$2y$'],
  ])('%s is read as %s', (given, read) => {
    expect(importedBcryptHash(given)).toBe(read);
  });
});
