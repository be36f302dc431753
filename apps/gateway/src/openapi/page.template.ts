import { compileTemplate, PALETTE } from '../html/html-template.js';

/** A part of a text: code, a link to an anchor of the page, or plain. */
interface TextPart {
  readonly text: string;
  readonly isCode?: boolean;
  readonly anchor?: string;
}
export type RichText = readonly TextPart[];

/** A name with its type and its meaning. */
export interface MemberView {
  readonly name: string;
  readonly type: RichText;
  readonly isOptional?: boolean;
  readonly description: RichText;
}

/** The fields of an object; of any other shape its type. */
export interface FieldsView {
  readonly type?: RichText;
  readonly description: RichText;
  readonly members: readonly MemberView[];
  /** Whether other members are possible. */
  readonly isOpen: boolean;
}

/** The errors with one status. */
export interface ErrorsView {
  readonly status: string;
  readonly codes: readonly { readonly code: number; readonly description: RichText }[];
}

export interface RouteView {
  readonly id: string;
  readonly method: string;
  readonly verb: string;
  /** Split at its slashes, where it may be broken. */
  readonly path: readonly string[];
  readonly aliases: readonly (readonly string[])[];
  readonly summary: string;
  readonly description: RichText;
  readonly credentials: string;
  readonly parameters: readonly MemberView[];
  readonly body?: FieldsView | undefined;
  readonly answers: readonly {
    readonly status: string;
    readonly description: RichText;
    readonly headers: readonly { readonly name: string; readonly description: RichText }[];
    readonly body?: FieldsView | undefined;
  }[];
  /** The errors of this route alone. */
  readonly ownErrors: readonly ErrorsView[];
  /** The statuses of the common errors, separated by commas. */
  readonly commonStatuses: string;
}

export interface DocumentView {
  readonly title: string;
  readonly description: RichText;
  readonly server: string;
  readonly credentials: readonly { readonly header: string; readonly name: string; readonly description: RichText }[];
  readonly sections: readonly {
    readonly name: string;
    readonly anchor: string;
    readonly routes: readonly RouteView[];
  }[];
  readonly commonErrors: readonly ErrorsView[];
  readonly shapes: readonly { readonly name: string; readonly anchor: string; readonly fields: FieldsView }[];
}

/** Renders the page. */
export function renderDocumentView(view: DocumentView): string {
  return render({ ...view, style: STYLE });
}

const PARTIALS = {
  rich: '{{#each this}}{{#if anchor}}<a href="#{{anchor}}">{{text}}</a>{{else if isCode}}<code>{{text}}</code>{{else}}{{text}}{{/if}}{{/each}}',
  type: '<span class="type">{{> rich type}}</span>',
  path: '<code>{{#each this}}{{#unless @first}}/<wbr>{{/unless}}{{this}}{{/each}}</code>',
  address: '<span class="method {{method}}">{{verb}}</span> {{> path path}}',
  status: '<span class="status">{{status}}</span>',
  contents: `<ul class="contents">
{{#each routes}}
<li><a href="#{{id}}">{{> address}}</a></li>
{{/each}}
</ul>`,
  members: `<dl>
{{#each this}}
<div><dt><code>{{name}}</code> {{> type}}{{#if isOptional}}<span class="type">, optional</span>{{/if}}</dt><dd>{{> rich description}}</dd></div>
{{/each}}
</dl>`,
  fields: `{{#if type}}<p>{{> type}} {{> rich description}}</p>{{else}}
{{#if description}}<p class="quiet">{{> rich description}}</p>{{/if}}
{{#if members}}{{> members members}}{{else}}<p class="quiet"><code>{}</code></p>{{/if}}
{{#if isOpen}}<p class="quiet">Other members are possible.</p>{{/if}}
{{/if}}`,
  errors: `<div class="errors">{{> status}}
<dl class="codes">
{{#each codes}}
<div><dt><code>{{code}}</code></dt><dd>{{> rich description}}</dd></div>
{{/each}}
</dl>
</div>
`,
  answer: `<p>{{> status}} {{> rich description}}</p>
{{#each headers}}
<p class="quiet"><code>{{name}}</code>: {{> rich description}}</p>
{{/each}}
{{#if body}}{{> fields body}}{{/if}}
`,
  route: `<article id="{{id}}" aria-labelledby="{{id}}-title">
<h3 id="{{id}}-title"><a href="#{{id}}">{{summary}}</a></h3>
<p class="address">{{> address}}</p>
{{#each aliases}}
<p class="quiet">Also as {{> path this}}</p>
{{/each}}
<p class="quiet">Credentials: <strong>{{credentials}}</strong></p>
{{#if description}}<p>{{> rich description}}</p>{{/if}}
{{#if parameters}}<h4>URL parameters</h4>{{> members parameters}}{{/if}}
{{#if body}}<h4>Body</h4>{{> fields body}}{{/if}}
<h4>Answer</h4>
{{#each answers}}{{> answer}}{{/each}}
<h4>Errors</h4>
{{#each ownErrors}}{{> errors}}{{/each}}
<p class="quiet">{{#if ownErrors}}And the{{else}}Only the{{/if}} <a href="#common-errors">common errors</a> with {{commonStatuses}}.</p>
</article>
`,
};

const render: (view: DocumentView & { readonly style: string }) => string = compileTemplate(
  `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{title}} API</title>
<style>{{{style}}}</style>
</head>
<body>
<a class="skip" href="#main">Skip the contents</a>
<nav aria-label="Contents">
<ul>
<li><a href="#credentials">Credentials</a></li>
{{#each sections}}
<li><a href="#{{anchor}}">{{name}}</a>{{> contents}}</li>
{{/each}}
<li><a href="#common-errors">Common errors</a></li>
<li><a href="#shapes">Shapes</a></li>
</ul>
</nav>
<main id="main">
<h1>{{title}} API</h1>
<p class="lead">{{> rich description}}</p>
<p class="lead">It is served at <code>{{server}}</code>. For programs: <a href="/openapi.json">openapi.json</a>.</p>
<h2 id="credentials">Credentials</h2>
<dl>
{{#each credentials}}
<div><dt><code>{{header}}</code> <span class="type">{{name}}</span></dt><dd>{{> rich description}}</dd></div>
{{/each}}
</dl>
{{#each sections}}
<section aria-labelledby="{{anchor}}">
<h2 id="{{anchor}}">{{name}}</h2>
{{> contents}}
{{#each routes}}{{> route}}{{/each}}
</section>
{{/each}}
<h2 id="common-errors">Common errors</h2>
{{#each commonErrors}}{{> errors}}{{/each}}
<h2 id="shapes">Shapes</h2>
{{#each shapes}}
<article id="{{anchor}}" aria-labelledby="{{anchor}}-title">
<h3 id="{{anchor}}-title">{{name}}</h3>
{{> fields fields}}
</article>
{{/each}}
</main>
</body>
</html>
`,
  PARTIALS,
);

/** The style of the page, which contains it; the policy allows it by its hash. */
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
