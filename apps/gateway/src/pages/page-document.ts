import { Markup, markup } from '../html/markup.js';
import { renderSign } from './page-signs.js';
import { PAGE_STYLE } from './page-style.js';
import type { PageTexts } from './page-texts.js';
import type { PageView } from './page-view.js';

/** A text that somebody chose: whatever way it is written, it leaves the text around it alone. */
export function chosen(text: string): Markup {
  return markup`<strong><bdi>${text}</bdi></strong>`;
}

/** The whole page. It has no script and loads nothing. */
export function renderPageDocument(
  { sign, applicationName = null, title, content }: PageView,
  { language }: Pick<PageTexts, 'language'>,
): string {
  const { text } = markup`<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}${applicationName === null ? '' : ` · ${applicationName}`}</title>
<style>${new Markup(PAGE_STYLE)}</style>
</head>
<body>
<main>
<header>${renderSign(sign)}${applicationName === null ? undefined : markup`<bdi>${applicationName}</bdi>`}</header>
<h1>${title}</h1>
${content}
</main>
</body>
</html>
`;
  return text;
}
