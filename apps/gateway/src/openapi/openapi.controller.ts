import { createHash } from 'node:crypto';
import { Controller, Get, Inject, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { GATEWAY_CONFIG, type GatewayConfig } from '../gateway.config.js';
import { contentSecurityPolicy } from '../html/html-template.js';
import { openApiDocument } from './document.js';
import { describeEndpoints, Endpoint } from './endpoint.decorator.js';
import { renderPage } from './page.js';
import { STYLE } from './page.template.js';
import { ENDPOINTS, type RoutedEndpoint } from './routed-endpoints.js';

const headers = { ETag: 'Changes with the content; send it as `If-None-Match`.' };
const unchanged = { description: 'The content still matches `If-None-Match`.' };

const openapiEndpoints = describeEndpoints('Service', {
  getDocument: {
    summary: 'Get this description as OpenAPI document',
    credentials: 'none',
    answers: {
      200: { description: 'An OpenAPI 3.1 document.', body: z.looseObject({ openapi: z.string() }), headers },
      304: unchanged,
    },
    errors: [],
  },
  getPage: {
    summary: 'Get this description as HTML page',
    credentials: 'none',
    answers: { 200: { description: 'A page.', mediaType: 'text/html', headers }, 304: unchanged },
    errors: [],
  },
});

/** A response that never changes while the process runs. */
interface StaticContent {
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** The description of the endpoints, created once at the start. */
interface Publication {
  readonly document: StaticContent;
  readonly page: StaticContent;
}

/** Clients may cache it for five minutes, and revalidate it with the ETag then. */
const CACHE_CONTROL = 'public, max-age=300';

/** The description of the API; it needs no credentials. */
@Controller()
export class OpenApiController {
  private readonly publication: Publication;

  constructor(
    @Inject(ENDPOINTS) endpoints: readonly RoutedEndpoint[],
    @Inject(GATEWAY_CONFIG) { baseUrl }: GatewayConfig,
  ) {
    this.publication = publish(endpoints, baseUrl);
  }

  @Get('openapi.json')
  @Endpoint(openapiEndpoints.getDocument)
  getDocument(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    send(request, reply, this.publication.document);
  }

  @Get('docs')
  @Endpoint(openapiEndpoints.getPage)
  getPage(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    send(request, reply, this.publication.page);
  }
}

function send(request: FastifyRequest, reply: FastifyReply, { body, headers }: StaticContent): void {
  void reply.headers(headers);
  const isKnown = request.headers['if-none-match'] === headers['etag'];
  void (isKnown ? reply.code(304).send() : reply.send(body));
}

/** @param baseUrl the public address of the API */
function publish(endpoints: readonly RoutedEndpoint[], baseUrl: string): Publication {
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
