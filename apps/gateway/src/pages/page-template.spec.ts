import { describe, expect, it } from 'vitest';
import { PAGE_STYLE } from './page-template.js';

const [day = {}, night = {}] = ['light', 'dark'].map(colours);

/** Foreground, background and least contrast. WCAG 2.2 AA requires 4.5 for text and 3 for edges of fields, icons and focus. */
const PAIRS: [string, string, number][] = [
  ...['--ink', '--quiet', '--link', '--good', '--warning', '--bad'].flatMap((text): [string, string, number][] => [
    [text, '--paper', 4.5],
    [text, '--sheet', 4.5],
  ]),
  ['--ink', '--bad-tint', 4.5],
  ['--on-link', '--link', 4.5],
  ['--on-link', '--pressed', 4.5],
  ['--edge', '--card', 3],
  ['--link', '--link-tint', 3],
  ['--good', '--good-tint', 3],
  ['--warning', '--warning-tint', 3],
  ['--bad', '--bad-tint', 3],
];

describe.each([
  ['day', day],
  ['night', night],
])('colours by %s', (_, palette) => {
  it.each(PAIRS)('%s on %s can be seen', (front, back, least) => {
    expect(contrast(palette[front], palette[back])).toBeGreaterThanOrEqual(least);
  });
});

/** The variables of a scheme; the dark one overrides those of the light one. */
function colours(scheme: string): Partial<Record<string, string>> {
  const isDark = scheme === 'dark';
  const rules = PAGE_STYLE.split(/(@media \(prefers-color-scheme: dark\) \{[^]*?\n\})/);
  const counting = [
    ...rules.filter((_, index) => index % 2 === 0),
    ...rules.filter((_, index) => isDark && index % 2 === 1),
  ];
  const all = new Map(
    [...counting.join('').matchAll(/(--[\w-]+): ([^;]+);/g)].map(([, name = '', value = '']) => [name, value]),
  );
  const resolved = [...all].map(([name, value]) => [name, all.get(/^var\((.+)\)$/.exec(value)?.[1] ?? '') ?? value]);
  return Object.fromEntries(resolved) as Record<string, string>;
}

/** https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio */
function contrast(first = '', second = ''): number {
  const [high = 0, low = 0] = [luminance(first), luminance(second)].sort((a, b) => b - a);
  return (high + 0.05) / (low + 0.05);
}

function luminance(colour: string): number {
  const digits = /^#(?:([\da-f])([\da-f])([\da-f])|([\da-f]{2})([\da-f]{2})([\da-f]{2}))$/
    .exec(colour)
    ?.slice(1)
    .filter(Boolean);
  const [red = NaN, green = NaN, blue = NaN] = (digits ?? []).map((digit) => {
    const part = Number.parseInt(digit.padEnd(2, digit), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
