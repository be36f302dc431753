import type { OpenApiDocument } from '../openapi.types.js';
import { Markup, markup, prose } from '../../html/markup.js';
import { renderContents, renderRoute, type Route, routesOf } from './route.js';
import { renderCommonErrors } from './route.errors.js';
import { renderShape } from './shape.js';
import { STYLE } from './style.js';

interface Section {
  readonly name: string;
  readonly anchor: string;
  readonly routes: readonly Route[];
}

/** Renders the document for people. */
export function renderPage(document: OpenApiDocument): string {
  const sections = document.tags
    .map(({ name }) => ({ name, anchor: anchorOf(name), routes: routesOf(document, name) }))
    .filter(({ routes }) => routes.length > 0);
  const { text } = markup`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${document.info.title} API</title>
<style>${new Markup(STYLE)}</style>
</head>
<body>
<a class="skip" href="#main">Skip the contents</a>
${renderNavigation(sections)}
<main id="main">
${renderIntroduction(document)}
${sections.map(renderSection)}
<h2 id="common-errors">Common errors</h2>
${renderCommonErrors(document.components.responses)}
<h2 id="shapes">Shapes</h2>
${Object.entries(document.components.schemas).map(([name, schema]) => renderShape(name, schema))}
</main>
</body>
</html>
`;
  return text;
}

function renderNavigation(sections: readonly Section[]): Markup {
  return markup`<nav aria-label="Contents">
<ul>
<li><a href="#credentials">Credentials</a></li>
${sections.map(({ name, anchor, routes }) => markup`<li><a href="#${anchor}">${name}</a>${renderContents(routes)}</li>\n`)}
<li><a href="#common-errors">Common errors</a></li>
<li><a href="#shapes">Shapes</a></li>
</ul>
</nav>`;
}

function renderIntroduction({ info, servers, components }: OpenApiDocument): Markup {
  const schemes = Object.entries(components.securitySchemes).map(
    ([id, { name, description }]) =>
      markup`<div><dt><code>${name}</code> <span class="type">${wordsOf(id)}</span></dt><dd>${prose(description)}</dd></div>\n`,
  );
  return markup`<h1>${info.title} API</h1>
<p class="lead">${prose(info.description)}</p>
<p class="lead">It is served at <code>${servers[0]?.url}</code>. For programs: <a href="/openapi.json">openapi.json</a>.</p>
<h2 id="credentials">Credentials</h2>
<dl>
${schemes}</dl>`;
}

function renderSection({ name, anchor, routes }: Section): Markup {
  return markup`<section aria-labelledby="${anchor}">
<h2 id="${anchor}">${name}</h2>
${renderContents(routes)}
${routes.map(renderRoute)}
</section>
`;
}

function anchorOf(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z]+/g, '-');
}

/** `applicationKey` as words. */
function wordsOf(id: string): string {
  return id.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}
