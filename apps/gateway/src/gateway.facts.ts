import type { ProcessFacts } from '#observability';
import type { GatewayConfig } from './gateway.config.js';

/** What operators can ask of a gateway's settings. */
export function noteSettings(
  facts: ProcessFacts,
  { baseUrl, pushUrls, rateLimits, trustedProxies }: GatewayConfig,
): void {
  const areLimited = [rateLimits.requests, rateLimits.logins, rateLimits.signUps].every((one) => one !== undefined);
  facts.setting('baseUrl', () => baseUrl);
  facts.setting('pushUrl', () => pushUrls?.server ?? null);
  facts.setting('areRequestsLimited', () => areLimited);
  facts.setting('trustedProxies', () => trustedProxies.length);
}
