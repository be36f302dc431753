import { createHash } from 'node:crypto';
import { openApiDocument } from './document.js';
import { contentSecurityPolicy } from '../html/content-security-policy.js';
import { renderPage } from './page/page.js';
import { STYLE } from './page/style.js';
import type { RoutedEndpoint } from './routed-endpoints.js';

/** A body that stays the same as long as the process lives. */
export interface StaticContent {
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** What the gateway publishes of its endpoints, made once at the start. */
export interface Publication {
  readonly document: StaticContent;
  readonly page: StaticContent;
}

/** Clients may keep it for five minutes, and ask with the ETag after that. */
const CACHE_CONTROL = 'public, max-age=300';

/** Describes the endpoints for programs and for people. @param baseUrl the public address of the API */
export function publish(endpoints: readonly RoutedEndpoint[], baseUrl: string): Publication {
  const document = openApiDocument(endpoints, baseUrl);
  return {
    document: staticContent(JSON.stringify(document), 'application/json; charset=utf-8'),
    page: staticContent(renderPage(document), 'text/html; charset=utf-8', {
      'content-security-policy': contentSecurityPolicy(STYLE, "'none'"),
      'referrer-policy': 'no-referrer',
    }),
  };
}

function staticContent(body: string, type: string, headers: Readonly<Record<string, string>> = {}): StaticContent {
  return {
    body,
    headers: {
      'content-type': type,
      'cache-control': CACHE_CONTROL,
      etag: `"${createHash('sha256').update(body).digest('base64url')}"`,
      'x-content-type-options': 'nosniff',
      ...headers,
    },
  };
}
