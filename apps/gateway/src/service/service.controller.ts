import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Controller, Get, HttpCode, HttpStatus, Inject, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { GATEWAY_CONFIG, type GatewayConfig } from '../gateway.config.js';
import { openApiDocument } from '../openapi/document.js';
import { describeEndpoints, Endpoint } from '../openapi/endpoint.decorator.js';
import { ENDPOINTS, type RoutedEndpoint } from '../openapi/routed-endpoints.js';

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
  getScript: {
    summary: 'Get the script of the HTML page',
    credentials: 'none',
    answers: { 200: { description: 'A file of the page.', mediaType: 'text/javascript', headers }, 304: unchanged },
    errors: [],
  },
  getStyle: {
    summary: 'Get the style sheet of the HTML page',
    credentials: 'none',
    answers: { 200: { description: 'A file of the page.', mediaType: 'text/css', headers }, 304: unchanged },
    errors: [],
  },
});

interface StaticContent {
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

type Publication = Readonly<Record<'document' | 'page' | 'script' | 'style', StaticContent>>;

/** Clients may cache it for five minutes, and revalidate it with the ETag then. */
const CACHE_CONTROL = 'public, max-age=300';

/** The page only describes the API: it sends no request to it and asks no validator on the internet. */
const START_SCRIPT = `SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#reference',
  deepLinking: true,
  supportedSubmitMethods: [],
  validatorUrl: null,
  persistAuthorization: false,
  showExtensions: true,
  defaultModelsExpandDepth: 0,
});`;

/** The dialog of credentials is for reading, and the column of links, which no response has, takes the width of a phone. */
const OWN_STYLE = `body { margin: 0; }
.swagger-ui .auth-container input, .swagger-ui .auth-container label, .swagger-ui .auth-container .auth-btn-wrapper { display: none; }
.swagger-ui .response-col_links { display: none; }
.swagger-ui table { table-layout: fixed; }
.swagger-ui .response-col_status { width: 4.5em; }
.swagger-ui .responses-inner { overflow-wrap: anywhere; }`;

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Gatepost API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/docs/swagger-ui.css">
<style>${OWN_STYLE}</style>
</head>
<body>
<div id="reference"></div>
<noscript>This page needs JavaScript. The same description for programs: <a href="/openapi.json">openapi.json</a></noscript>
<script src="/docs/swagger-ui-bundle.js"></script>
<script>${START_SCRIPT}</script>
</body>
</html>
`;

/** Nothing from another host. Swagger UI has its icons in `data:` addresses. */
const PAGE_POLICY = [
  "default-src 'none'",
  `script-src 'self' '${sourceHash(START_SCRIPT)}'`,
  `style-src 'self' '${sourceHash(OWN_STYLE)}'`,
  'img-src data:',
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

@Controller()
export class OpenApiController {
  readonly #publication: Publication;

  constructor(
    @Inject(ENDPOINTS) endpoints: readonly RoutedEndpoint[],
    @Inject(GATEWAY_CONFIG) { baseUrl }: GatewayConfig,
  ) {
    this.#publication = publish(endpoints, baseUrl);
  }

  @Get('openapi.json')
  @Endpoint(openapiEndpoints.getDocument)
  getDocument(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    send(request, reply, this.#publication.document);
  }

  @Get('docs')
  @Endpoint(openapiEndpoints.getPage)
  getPage(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    send(request, reply, this.#publication.page);
  }

  @Get('docs/swagger-ui-bundle.js')
  @Endpoint(openapiEndpoints.getScript)
  getScript(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    send(request, reply, this.#publication.script);
  }

  @Get('docs/swagger-ui.css')
  @Endpoint(openapiEndpoints.getStyle)
  getStyle(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    send(request, reply, this.#publication.style);
  }
}

function send(request: FastifyRequest, reply: FastifyReply, { body, headers }: StaticContent): void {
  void reply.headers(headers);
  const isKnown = request.headers['if-none-match'] === headers['etag'];
  void (isKnown ? reply.code(304).send() : reply.send(body));
}

function publish(endpoints: readonly RoutedEndpoint[], baseUrl: string): Publication {
  const document = openApiDocument(endpoints, baseUrl);
  return {
    document: staticContent(JSON.stringify(document), 'application/json; charset=utf-8'),
    page: staticContent(PAGE, 'text/html; charset=utf-8', {
      'content-security-policy': PAGE_POLICY,
      'referrer-policy': 'no-referrer',
    }),
    script: staticContent(packageFile('swagger-ui-bundle.js'), 'text/javascript; charset=utf-8'),
    style: staticContent(packageFile('swagger-ui.css'), 'text/css; charset=utf-8'),
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

function packageFile(name: string): string {
  return readFileSync(createRequire(import.meta.url).resolve(`swagger-ui-dist/${name}`), 'utf8');
}

function sourceHash(content: string): string {
  return `sha256-${createHash('sha256').update(content).digest('base64')}`;
}

const pingEndpoints = describeEndpoints('Service', {
  ping: {
    summary: 'Check that the API responds',
    credentials: 'none',
    answers: { 200: { description: 'The API responds.', body: z.object({ status: z.literal('ok') }) } },
    errors: [],
  },
  date: {
    summary: "Get the server's time",
    credentials: 'none',
    answers: {
      200: {
        description: "The time, in the API's Date type.",
        body: z.object({ __type: z.literal('Date'), iso: z.iso.datetime() }),
      },
    },
    errors: [],
  },
});

@Controller('1.1')
export class PingController {
  @Get('ping')
  @Endpoint(pingEndpoints.ping)
  ping(): { status: string } {
    return { status: 'ok' };
  }

  @Get('date')
  @Endpoint(pingEndpoints.date)
  date(): { __type: 'Date'; iso: string } {
    return { __type: 'Date', iso: new Date().toISOString() };
  }
}

const nothing = { 200: { description: 'An empty object.', body: z.object({}) } };

const statisticsEndpoints = describeEndpoints('Service', {
  collect: {
    summary: 'Accept the statistics of an SDK',
    description: 'Shipped apps send them. Nothing is stored.',
    credentials: 'application',
    body: z.looseObject({}),
    answers: nothing,
    errors: [],
  },
  sendPolicy: {
    summary: 'Get when an SDK sends statistics',
    description: 'Shipped apps ask for it. The empty policy leaves the decision to the SDK.',
    credentials: 'application',
    answers: nothing,
    errors: [],
  },
});

/** Requests that SDKs of shipped apps send without the app's doing; an error would make some of them try again and again. */
@Controller('1.1')
export class StatisticsController {
  @Post(['stats/collect', 'always_collect'])
  @HttpCode(HttpStatus.OK)
  @Endpoint(statisticsEndpoints.collect)
  collect(): object {
    return {};
  }

  @Get('statistics/apps/:appId/sendPolicy')
  @Endpoint(statisticsEndpoints.sendPolicy)
  sendPolicy(): object {
    return {};
  }
}
