import { describe, expect, it } from 'vitest';
import { pushUrlBeside } from './gateway.config.js';

describe('the address of a connector beside the API', () => {
  it.each([
    ['http://localhost:8080', undefined, 'ws://localhost:8080/push'],
    ['http://localhost:8080', 35_123, 'ws://localhost:35123/push'],
    ['https://accounts.example.com', undefined, 'wss://accounts.example.com/push'],
    ['https://accounts.example.com', 8443, 'wss://accounts.example.com:8443/push'],
    ['https://accounts.example.com:8443', 443, 'wss://accounts.example.com/push'],
    ['http://[::1]:8080', 9000, 'ws://[::1]:9000/push'],
    ['https://example.com/accounts', undefined, 'wss://example.com/push'],
  ])('%s, port %s: %s', (baseUrl, port, address) => {
    expect(pushUrlBeside(baseUrl, port)).toBe(address);
  });
});
