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
const unchanged = { description: 'It is still what `If-None-Match` names.' };

const openapiEndpoints = describeEndpoints('Service', {
  getDocument: {
    summary: 'Get this description for programs',
    credentials: 'none',
    answers: {
      200: { description: 'An OpenAPI 3.1 document.', body: z.looseObject({ openapi: z.string() }), headers },
      304: unchanged,
    },
    errors: [],
  },
  getPage: {
    summary: 'Read this description',
    credentials: 'none',
    answers: { 200: { description: 'A page.', mediaType: 'text/html', headers }, 304: unchanged },
    errors: [],
  },
});

/** A body that stays the same as long as the process lives. */
interface StaticContent {
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** What the gateway publishes of its endpoints, made once at the start. */
interface Publication {
  readonly document: StaticContent;
  readonly page: StaticContent;
}

/** Clients may keep it for five minutes, and ask with the ETag after that. */
const CACHE_CONTROL = 'public, max-age=300';

/** What the API says of itself; open to everyone. */
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

/** Describes the endpoints for programs and for people. @param baseUrl the public address of the API */
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
