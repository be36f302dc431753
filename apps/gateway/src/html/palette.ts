/** The colours of every page of ours, by day and by night. Text on `--paper` and `--sheet` has the contrast of WCAG AA. */
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
