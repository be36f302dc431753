import { type Markup, markup } from '../html/markup.js';

const SHAPES = {
  letter: markup`<rect x="3" y="5" width="18" height="14" rx="3"/><path d="m4 8 8 5.5L20 8"/>`,
  key: markup`<circle cx="8" cy="15" r="4"/><path d="m11 12 8.5-8.5M16 7l3 3"/>`,
  done: markup`<path d="m5 12.5 4.5 4.5L19 7.5"/>`,
  waiting: markup`<circle cx="12" cy="12" r="8.5"/><path d="M12 7.5V12l3 2"/>`,
  trouble: markup`<path d="M12 6v7.5"/><path d="M12 17.5v.01"/>`,
} as const;

/** The picture of a page; it only repeats what the title says. */
export type PageSign = keyof typeof SHAPES;

export function renderSign(sign: PageSign): Markup {
  return markup`<span class="sign ${sign}"><svg viewBox="0 0 24 24" width="28" height="28" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true" focusable="false">${SHAPES[sign]}</svg></span>`;
}
