const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** HTML that is safe to send: whatever text went into it is escaped. */
export class Markup {
  constructor(readonly text: string) {}
}

/** What may stand between the literal parts of a template. */
export type Content = string | number | Markup | undefined | readonly Content[];

/** HTML from a template: its literal parts are taken as they are, everything put between them is escaped. */
export function markup(literals: TemplateStringsArray, ...contents: readonly Content[]): Markup {
  const parts = literals.map((literal, index) => literal + render(contents[index]));
  return new Markup(parts.join(''));
}

/** Text in which what stands between backticks is set as code. */
export function prose(text: string): Markup[] {
  return text.split('`').map((part, index) => (index % 2 === 1 ? markup`<code>${part}</code>` : markup`${part}`));
}

function render(content: Content): string {
  if (content === undefined) return '';
  if (content instanceof Markup) return content.text;
  if (typeof content === 'object') return content.map(render).join('');
  return String(content).replaceAll(/[&<>"']/g, (character) => ESCAPES[character] ?? character);
}
