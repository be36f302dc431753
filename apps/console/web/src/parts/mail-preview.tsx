import { Checkbox, Group } from '@mantine/core';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { useTexts } from '../texts/texts';

/**
 * A mail as a reader sees it, in a frame without scripts, forms and links that lead anywhere. The policy of the page, which the frame
 * inherits, refuses inline styles of a parsed document; so styles are set by the object model, which it allows.
 */
export function MailPreview({ html }: { readonly html: string }): ReactNode {
  const t = useTexts();
  const frame = useRef<HTMLIFrameElement>(null);
  const [isNarrow, setNarrow] = useState(false);
  const [isDark, setDark] = useState(false);
  useEffect(() => {
    const shown = frame.current?.contentDocument;
    if (shown !== null && shown !== undefined) show(html, shown, isDark ? 'dark' : 'light');
  }, [html, isDark]);
  const className = ['mail', ...(isNarrow ? ['narrow'] : []), ...(isDark ? ['dark'] : [])].join(' ');
  return (
    <>
      <Group gap="md">
        <Checkbox label={t.templates.phone} checked={isNarrow} onChange={() => setNarrow(!isNarrow)} />
        <Checkbox label={t.shell.themes.dark} checked={isDark} onChange={() => setDark(!isDark)} />
      </Group>
      {/* Without allow-scripts nothing in the frame can run; allow-same-origin lets this page fill it. */}
      <iframe ref={frame} title={t.templates.preview} sandbox="allow-same-origin" className={className} />
    </>
  );
}

const REMOVED = 'script, iframe, object, embed, base, link, meta, form, input, button';

function show(html: string, into: Document, scheme: 'dark' | 'light'): void {
  const parsed = new DOMParser().parseFromString(withoutStyles(html), 'text/html');
  for (const each of parsed.querySelectorAll(REMOVED)) each.remove();
  const sheets = [...parsed.querySelectorAll('textarea')].map((style) => {
    style.remove();
    return inScheme(style.value, scheme);
  });
  const body = copyOf(parsed.body, into);
  into.body.replaceWith(body);
  into.adoptedStyleSheets = sheetsOf(sheets, into);
  into.documentElement.style.setProperty('color-scheme', scheme, 'important');
}

/** The styles for a reader with this colour scheme, whatever that of the operator is. */
function inScheme(css: string, scheme: string): string {
  return css.replace(/\(\s*prefers-color-scheme\s*:\s*(dark|light)\s*\)/gi, (_, asked: string) =>
    asked.toLowerCase() === scheme ? '(min-width: 0)' : '(max-width: 0)',
  );
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
