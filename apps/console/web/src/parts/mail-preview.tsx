import { type ReactNode, useEffect, useRef } from 'react';
import { useTexts } from '../texts/texts';

/**
 * A mail as a reader sees it, in a frame without scripts, forms and links that lead anywhere. The policy of the page, which the frame
 * inherits, refuses inline styles of a parsed document; so styles are set by the object model, which it allows.
 */
export function MailPreview({ html }: { readonly html: string }): ReactNode {
  const t = useTexts();
  const frame = useRef<HTMLIFrameElement>(null);
  useEffect(() => {
    const shown = frame.current?.contentDocument;
    if (shown !== null && shown !== undefined) show(html, shown);
  }, [html]);
  // Without allow-scripts nothing in the frame can run; allow-same-origin lets this page fill it.
  return <iframe ref={frame} title={t.templates.preview} sandbox="allow-same-origin" className="mail" />;
}

const REMOVED = 'script, iframe, object, embed, base, link, meta, form, input, button';

function show(html: string, into: Document): void {
  const parsed = new DOMParser().parseFromString(withoutStyles(html), 'text/html');
  for (const each of parsed.querySelectorAll(REMOVED)) each.remove();
  const sheets = [...parsed.querySelectorAll('textarea')].map((style) => {
    style.remove();
    return style.value;
  });
  const body = copyOf(parsed.body, into);
  into.body.replaceWith(body);
  into.adoptedStyleSheets = sheetsOf(sheets, into);
}

/** A parser applies the policy too, and reports each style: so styles stand under other names while it works. */
function withoutStyles(html: string): string {
  return html.replace(/<[^<>]*>/g, (tag) =>
    tag.replace(/^<(\/?)(?:style|textarea)\b/i, '<$1textarea').replace(/\sstyle(?=\s*=)/gi, ' data-style'),
  );
}

function sheetsOf(texts: readonly string[], document: Document): CSSStyleSheet[] {
  const Sheet = document.defaultView?.CSSStyleSheet;
  if (Sheet === undefined) return [];
  return texts.map((text) => {
    const sheet = new Sheet();
    sheet.replaceSync(text);
    return sheet;
  });
}

/** A copy whose attributes are only those that a mail needs. */
function copyOf(element: Element, document: Document): HTMLElement {
  const copy = document.createElement(element.localName);
  for (const { name, value } of element.attributes) {
    if (name === 'data-style') copy.style.cssText = value;
    else if (isHarmless(name, value)) copy.setAttribute(name, value);
  }
  for (const child of element.childNodes) {
    if (child.nodeType === Node.TEXT_NODE) copy.append(child.textContent ?? '');
    else if (child instanceof Element) copy.append(copyOf(child, document));
  }
  return copy;
}

const KEPT =
  /^(?:align|alt|bgcolor|border|cellpadding|cellspacing|class|colspan|dir|height|id|lang|role|rowspan|title|valign|width)$/;

function isHarmless(name: string, value: string): boolean {
  return KEPT.test(name) || (name === 'src' && value.startsWith('data:image/'));
}
