import { PALETTE } from '../../html/palette.js';

/** The style of the page; it is part of it, and allowed by its hash. */
export const STYLE = `${PALETTE}
html { scroll-behavior: smooth; scroll-padding-top: 1rem; }
@media (prefers-reduced-motion: reduce) { html { scroll-behavior: auto; } }
body { background: var(--paper); }
a { color: var(--link); text-decoration-thickness: 1px; text-underline-offset: 0.15em; }
code { font: 0.92em/1.4 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; overflow-wrap: anywhere; }
p { margin: 0.4rem 0; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0; letter-spacing: -0.01em; }
h2 { font-size: 1.4rem; line-height: 1.3; margin: 3rem 0 1rem; padding-bottom: 0.4rem; border-bottom: 1px solid var(--line); }
h3 { font-size: 1.1rem; line-height: 1.35; margin: 0; }
h4 { font-size: 0.8rem; margin: 1.2rem 0 0.3rem; color: var(--quiet); text-transform: uppercase; letter-spacing: 0.05em; }
.skip { position: absolute; left: -100vw; }
.skip:focus { left: 1rem; top: 1rem; padding: 0.5rem 1rem; background: var(--paper); }
.lead { color: var(--quiet); }
.quiet { color: var(--quiet); font-size: 0.92rem; }
.quiet strong { color: var(--ink); font-weight: 600; }
main { padding: 1.5rem 1rem 5rem; max-width: 50rem; }
nav { padding: 1rem; background: var(--sheet); border-bottom: 1px solid var(--line); }
nav ul, ul.contents { list-style: none; margin: 0; padding: 0; }
nav > ul { display: flex; flex-wrap: wrap; gap: 0.4rem; }
nav > ul > li > a {
  display: inline-block;
  padding: 0.3rem 0.8rem;
  border: 1px solid var(--line);
  border-radius: 1rem;
  background: var(--paper);
  text-decoration: none;
}
nav .contents { display: none; }
main .contents { margin-bottom: 1.5rem; }
.contents a, .address { display: flex; gap: 0.6rem; align-items: baseline; }
.contents a { padding: 0.2rem 0; text-decoration: none; }
.contents a:hover code { text-decoration: underline; }
.contents code { color: var(--ink); }
.method { font: 700 0.8rem/1.4 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; min-width: 3.6em; flex: none; }
.get { color: var(--link); }
.post { color: var(--good); }
.put, .patch { color: var(--warning); }
.delete { color: var(--bad); }
article { margin: 0 0 1.25rem; padding: 1rem; border: 1px solid var(--line); border-radius: 0.6rem; }
article:target { border-color: var(--link); box-shadow: 0 0 0 1px var(--link); }
article > h3 a { color: inherit; text-decoration: none; }
article > h3 a:hover { text-decoration: underline; }
.address { margin: 0.6rem 0; padding: 0.5rem 0.75rem; background: var(--sheet); border-radius: 0.4rem; }
dl { margin: 0; }
dl > div { padding: 0.45rem 0; border-top: 1px solid var(--line); }
dl > div:first-child { border-top: 0; }
dt { overflow-wrap: anywhere; }
dd { margin: 0; color: var(--quiet); }
.status {
  display: inline-block;
  padding: 0.05rem 0.5rem;
  border: 1px solid var(--line);
  border-radius: 0.4rem;
  background: var(--sheet);
  font: 700 0.85rem/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace;
}
.errors { margin: 0.6rem 0; }
.errors dl { margin-top: 0.25rem; }
.codes > div { display: grid; grid-template-columns: 3.2rem 1fr; gap: 0.5rem; padding: 0.25rem 0; border: 0; }
.codes dd { color: inherit; }
.type { color: var(--quiet); font-size: 0.88rem; }
@media (min-width: 64rem) {
  body { display: grid; grid-template-columns: 21rem minmax(0, 1fr); }
  nav { position: sticky; top: 0; height: 100vh; overflow-y: auto; border-bottom: 0; border-right: 1px solid var(--line); padding: 2rem 1.25rem; }
  nav > ul { display: block; }
  nav > ul > li { margin-bottom: 1rem; }
  nav > ul > li > a { padding: 0; border: 0; background: none; font-weight: 600; color: var(--ink); }
  nav .contents { display: block; margin-top: 0.25rem; font-size: 0.88rem; }
  nav .method { font-size: 0.7rem; }
  main { padding: 2.5rem 3rem 6rem; }
  main .contents { display: none; }
  article { padding: 1.4rem 1.5rem; }
  .codes { display: grid; grid-template-columns: 1fr 1fr; column-gap: 1.5rem; align-items: start; }
}
@media print {
  nav { display: none; }
  body { display: block; }
  article { break-inside: avoid; }
}
`;
