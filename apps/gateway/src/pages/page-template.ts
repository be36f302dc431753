import { createHash } from 'node:crypto';
import { HttpStatus } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import Handlebars from 'handlebars';
import type { AppError } from '#errors';
import { readerOf } from './page-request.js';
import type { PageTexts } from './page-texts.en.js';
import { messageView, type PageIcon, type PageView } from './page-views.js';

/** The colours of every page in the light and the dark scheme. Text on `--paper` and `--sheet` has the contrast of WCAG AA. */
const PALETTE = `
:root {
  color-scheme: light dark;
  --paper: #fff;
  --sheet: #f6f7f9;
  --line: #dfe3e8;
  --ink: #1d2430;
  --quiet: #586374;
  --link: #0b57b0;
  --good: #17713a;
  --warning: #8a5300;
  --bad: #b3261e;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #14171c;
    --sheet: #1c2027;
    --line: #323945;
    --ink: #e4e8ee;
    --quiet: #a3adbb;
    --link: #8ab8ff;
    --good: #7fd39a;
    --warning: #f0bd6a;
    --bad: #ff9b92;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body {
  margin: 0;
  color: var(--ink);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif;
}
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; border-radius: 3px; }
`;

export function renderPage(view: PageView, { language }: Pick<PageTexts, 'language'>): string {
  return render({ ...view, language, style: PAGE_STYLE, iconShapes: ICON_SHAPES[view.icon] });
}

const ICON_SHAPES: Readonly<Record<PageIcon, string>> = {
  letter: '<rect x="3" y="5" width="18" height="14" rx="3"/><path d="m4 8 8 5.5L20 8"/>',
  key: '<circle cx="8" cy="15" r="4"/><path d="m11 12 8.5-8.5M16 7l3 3"/>',
  done: '<path d="m5 12.5 4.5 4.5L19 7.5"/>',
  waiting: '<circle cx="12" cy="12" r="8.5"/><path d="M12 7.5V12l3 2"/>',
  trouble: '<path d="M12 6v7.5"/><path d="M12 17.5v.01"/>',
};

interface TemplateView extends PageView, Pick<PageTexts, 'language'> {
  /** Inserted without escaping, like `iconShapes`. */
  readonly style: string;
  readonly iconShapes: string;
}

const render: (view: TemplateView) => string = compileTemplate(`<!doctype html>
<html lang="{{language}}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{title}}{{#if applicationName}} · {{applicationName}}{{/if}}</title>
<style>{{{style}}}</style>
</head>
<body>
<main>
<header><span class="sign {{icon}}"><svg viewBox="0 0 24 24" width="28" height="28" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true" focusable="false">{{{iconShapes}}}</svg></span>{{#if applicationName}}<bdi>{{applicationName}}</bdi>{{/if}}</header>
<h1>{{title}}</h1>
{{#each leads}}
<p class="lead">{{before}}{{#if chosenName}}<strong><bdi>{{chosenName}}</bdi></strong>{{/if}}{{after}}</p>
{{/each}}
{{#if owner}}
<dl>
{{#each owner}}
<div><dt>{{name}}</dt><dd><bdi>{{value}}</bdi></dd></div>
{{/each}}
</dl>
{{/if}}
{{#if alert}}
<p class="refusal" role="alert">{{alert}}</p>
{{/if}}
{{#with form}}
<form method="post" action="{{action}}">
<input type="hidden" name="token" value="{{token}}">
{{#if fields}}
<input type="text" id="username" autocomplete="username" value="{{username}}" readonly hidden>
{{/if}}
{{#each fields}}
<div class="field">
<label for="{{name}}">{{label}}</label>
<input type="password" id="{{name}}" name="{{name}}" autocomplete="new-password" required minlength="{{minLength}}"{{#if describedBy}} aria-describedby="{{describedBy}}"{{/if}}{{#if isInvalid}} aria-invalid="true"{{/if}}{{#if isFocused}} autofocus{{/if}}>
{{#each notes}}
<p class="{{style}}" id="{{id}}">{{text}}</p>
{{/each}}
</div>
{{/each}}
<button>{{button}}</button>
</form>
{{/with}}
{{#if note}}
<p class="note">{{note}}</p>
{{/if}}
</main>
</body>
</html>
`);

/** The style of the pages of mailed links; it is part of them, and allowed by its hash. */
export const PAGE_STYLE = `${PALETTE}
:root {
  --card: var(--paper);
  --ground: var(--sheet);
  --edge: #77818f;
  --pressed: #08468e;
  --on-link: #fff;
  --link-tint: #e7f0fb;
  --good-tint: #e4f4e9;
  --warning-tint: #fbf1df;
  --bad-tint: #fcebe9;
}
@media (prefers-color-scheme: dark) {
  :root {
    --card: var(--sheet);
    --ground: var(--paper);
    --edge: #7f8a99;
    --pressed: #a9cbff;
    --on-link: #10233d;
    --link-tint: #1f2f47;
    --good-tint: #1b3324;
    --warning-tint: #382c18;
    --bad-tint: #3d2321;
  }
}
body {
  display: flex;
  flex-direction: column;
  align-items: center;
  min-height: 100vh;
  min-height: 100dvh;
  padding: 1rem;
  background: var(--ground);
  overflow-wrap: anywhere;
}
/* Above the middle, where the eye looks first. */
body::before { content: ""; flex: 2; }
body::after { content: ""; flex: 3; }
main {
  width: 100%;
  max-width: 28rem;
  padding: 1.75rem 1.5rem 1.5rem;
  background: var(--card);
  border: 1px solid var(--line);
  border-radius: 1.25rem;
  box-shadow: 0 1px 2px rgb(16 24 40 / 4%), 0 12px 32px rgb(16 24 40 / 6%);
}
header { display: flex; align-items: center; gap: 0.85rem; margin-bottom: 1.25rem; color: var(--quiet); }
.sign {
  display: grid;
  place-items: center;
  flex: none;
  width: 3.25rem;
  height: 3.25rem;
  border-radius: 1rem;
  background: var(--link-tint);
  color: var(--link);
}
.sign.done { background: var(--good-tint); color: var(--good); }
.sign.waiting { background: var(--warning-tint); color: var(--warning); }
.sign.trouble { background: var(--bad-tint); color: var(--bad); }
h1 { margin: 0; font-size: 1.5rem; line-height: 1.3; letter-spacing: -0.01em; text-wrap: balance; }
p { margin: 0.5rem 0 0; text-wrap: pretty; }
.lead { color: var(--quiet); }
strong { font-weight: 600; color: var(--ink); }
dl { margin: 1.25rem 0 0; border: 1px solid var(--line); border-radius: 0.75rem; }
dl > div { padding: 0.65rem 0.9rem; }
dl > div + div { border-top: 1px solid var(--line); }
dt { color: var(--quiet); line-height: 1.4; }
dd { margin: 0; font-weight: 600; }
form { margin: 1.25rem 0 0; }
.field { margin-bottom: 1.1rem; }
label { display: block; margin-bottom: 0.35rem; font-weight: 600; }
input:not([type=hidden]) {
  display: block;
  width: 100%;
  min-height: 3rem;
  padding: 0.5rem 0.9rem;
  border: 1px solid var(--edge);
  border-radius: 0.75rem;
  background: transparent;
  color: inherit;
  font: inherit;
}
input[hidden] { display: none !important; }
input[aria-invalid=true] { border-color: var(--bad); box-shadow: inset 0 0 0 1px var(--bad); }
.hint { margin-top: 0.4rem; color: var(--quiet); line-height: 1.45; }
.mistake { margin-top: 0.4rem; color: var(--bad); font-weight: 600; line-height: 1.45; }
.refusal { margin-top: 1.25rem; padding: 0.75rem 0.9rem; border-radius: 0.75rem; background: var(--bad-tint); }
button {
  display: block;
  width: 100%;
  min-height: 3rem;
  padding: 0.6rem 1rem;
  border: 0;
  border-radius: 0.75rem;
  background: var(--link);
  color: var(--on-link);
  font: inherit;
  font-weight: 600;
  cursor: pointer;
}
button:hover, button:active { background: var(--pressed); }
input:focus-visible, button:focus-visible { border-radius: 0.75rem; }
.note { margin-top: 1.1rem; color: var(--quiet); line-height: 1.5; }
@media (min-width: 40rem) { main { padding: 2.25rem 2.25rem 2rem; } }
@media (forced-colors: active) { button, .refusal { border: 1px solid; } }
`;

/** Compiles an HTML template, which escapes every value in `{{…}}`. Rendering throws for a value that the view does not have. */
export function compileTemplate(source: string): (view: object) => string {
  const render = Handlebars.create().compile<object>(source, { strict: true, knownHelpersOnly: true });
  return (view) => render(view);
}

/** The policy of a page that runs no script and loads nothing, and sends its forms to this server; its one style is allowed by its hash. */
export function contentSecurityPolicy(style: string): string {
  const hash = createHash('sha256').update(style).digest('base64');
  return `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'`;
}

/** Pages contain a token: they are not cached, not shown in frames, and send no referrer. */
const HEADERS: Readonly<Record<string, string>> = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': contentSecurityPolicy(PAGE_STYLE),
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'x-robots-tag': 'noindex',
  'cache-control': 'no-store',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  vary: 'Accept-Language',
};
/** CORS headers of the API: scripts of other origins may not read a page. */
const API_ONLY_HEADERS = ['access-control-allow-origin', 'access-control-expose-headers'];

export function sendPage(reply: FastifyReply, view: PageView, texts: PageTexts): void {
  for (const name of API_ONLY_HEADERS) void reply.removeHeader(name);
  void reply.headers({ ...HEADERS, 'content-language': texts.language });
  if (view.retryAfterSeconds !== undefined) void reply.header('retry-after', String(view.retryAfterSeconds));
  void reply.code(view.status ?? HttpStatus.OK).send(renderPage(view, texts));
}

const FAILURES: Readonly<Partial<Record<number, keyof PageTexts['failures']>>> = {
  400: 'malformed',
  404: 'notFound',
  413: 'malformed',
  429: 'tooManyRequests',
  503: 'unavailable',
};

export function sendErrorPage(request: FastifyRequest, reply: FastifyReply, error: AppError): void {
  const { status, retryAfterSeconds } = error;
  const { texts } = readerOf(request);
  const failure = FAILURES[status] ?? 'internal';
  const icon = failure === 'tooManyRequests' || failure === 'unavailable' ? 'waiting' : 'trouble';
  sendPage(reply, { status, retryAfterSeconds, icon, ...messageView(texts.failures[failure]) }, texts);
}
