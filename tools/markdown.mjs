/** A table of Markdown. */
export function table(head, rows) {
  const line = (cells) => `| ${cells.map((cell) => String(cell).replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

/** A page that is made from `source` and not edited. */
export function page(title, source, ...parts) {
  return `${[`# ${title}`, `<!-- Made from ${source} by "npm run generate". Do not edit. -->`, ...parts].join('\n\n')}\n`;
}
