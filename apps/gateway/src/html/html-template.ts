import { createHash } from 'node:crypto';
import Handlebars from 'handlebars';

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

/** The colours of every page in the light and the dark scheme. Text on `--paper` and `--sheet` has the contrast of WCAG AA. */
export const PALETTE = `
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
