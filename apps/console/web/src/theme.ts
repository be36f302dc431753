import { createTheme, type CSSVariablesResolver, type MantineColorsTuple } from '@mantine/core';
import { THEMES } from '#console-api';
import { knownOperator } from './api/queries';
import { lookKey } from './texts/texts';

/** Of the local storage: the theme that was shown last, chosen here or stored for the operator. `theme.js` begins the next page with it. */
export const SHOWN_THEME_KEY = 'gatepost-theme-shown';

/** The theme that was chosen on this computer, else that of the operator, else that of the system. */
export const preferredTheme = (): (typeof THEMES)[number] =>
  THEMES.find((each) => each === (localStorage.getItem(lookKey('theme')) ?? knownOperator()?.theme)) ?? 'auto';

// The colours are those of the mailed-link pages (PALETTE in apps/gateway/src/html): one look for everything that Gatepost shows.
// Shade 6 is the colour on light ground, shade 3 the one on dark ground; both reach 4.5:1 there.

const shades = (colors: string) => colors.split(' ') as unknown as MantineColorsTuple;

const link = shades('#e7f0fb #d0e2f8 #a9cbff #8ab8ff #5c9bf2 #2f7bdc #0b57b0 #08468e #073a75 #052c5a');
const good = shades('#e4f4e9 #cdead6 #a9dcb9 #7fd39a #4fb474 #2c9455 #17713a #115a2e #0d4824 #09361b');
const warning = shades('#fbf1df #f8e3bf #f4d093 #f0bd6a #d9973a #b3741a #8a5300 #704300 #5a3600 #452900');
const bad = shades('#fcebe9 #fad4d0 #ffb8b1 #ff9b92 #ea6a60 #d1453b #b3261e #931c15 #761611 #5a110d');
const gray = shades('#f6f7f9 #eef0f3 #e7eaee #dfe3e8 #c6ccd4 #a3adbb #586374 #4a5462 #323945 #1d2430');
const dark = shades('#e4e8ee #c5ccd6 #a3adbb #7f8a99 #3d4552 #323945 #262b34 #1c2027 #14171c #0f1216');

export const theme = createTheme({
  colors: { link, good, warning, bad, gray, dark, red: bad },
  primaryColor: 'link',
  primaryShade: { light: 6, dark: 3 },
  autoContrast: true,
  black: '#1d2430',
  defaultRadius: 'sm',
  cursorType: 'pointer',
  respectReducedMotion: true,
  fontFamily:
    'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "PingFang SC", "Microsoft YaHei", "Noto Sans CJK SC", sans-serif',
  headings: {
    fontWeight: '600',
    sizes: { h1: { fontSize: '1.25rem', lineHeight: '1.4' }, h2: { fontSize: '1rem', lineHeight: '1.4' } },
  },
  components: {
    Button: { defaultProps: { size: 'xs', variant: 'default' } },
    Text: { defaultProps: { size: 'sm' } },
    Alert: { defaultProps: { variant: 'light' } },
    Badge: { defaultProps: { variant: 'light', radius: 'sm', tt: 'none', fw: 500 } },
    InputBase: { defaultProps: { size: 'sm' } },
    // Its <header> would count as a second banner of the page.
    Modal: { defaultProps: { centered: true, radius: 'md', attributes: { header: { role: 'presentation' } } } },
    Tooltip: { defaultProps: { withArrow: true, events: { hover: true, focus: true, touch: true } } },
  },
});

/** Grounds and texts of link, good, warning and bad, in this order. */
const lightVariant = (grounds: readonly (string | undefined)[], texts: readonly (string | undefined)[]) =>
  Object.fromEntries([
    ['--mantine-primary-color-light', grounds[0]],
    ...['link', 'good', 'warning', 'bad'].flatMap((name, place) => [
      [`--mantine-color-${name}-light`, grounds[place]],
      [`--mantine-color-${name}-light-color`, texts[place]],
    ]),
  ]) as Record<string, string>;

export const cssVariables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    '--ground': '#f6f7f9',
    '--edge': '#77818f',
    '--mantine-color-dimmed': '#586374',
    '--mantine-color-placeholder': '#586374',
    '--mantine-color-error': '#b3261e',
    '--mantine-color-anchor': '#0b57b0',
    '--mantine-color-default-border': '#dfe3e8',
    ...lightVariant([link[0], good[0], warning[0], bad[0]], [link[7], good[6], warning[7], bad[6]]),
  },
  dark: {
    '--ground': '#14171c',
    '--edge': '#7f8a99',
    '--mantine-color-text': '#e4e8ee',
    '--mantine-color-dimmed': '#a3adbb',
    '--mantine-color-placeholder': '#a3adbb',
    '--mantine-color-error': '#ff9b92',
    '--mantine-color-anchor': '#8ab8ff',
    '--mantine-color-default-border': '#323945',
    '--mantine-primary-color-contrast': '#10233d',
    ...lightVariant(['#1f2f47', '#1b3324', '#382c18', '#3d2321'], [link[3], good[3], warning[3], bad[3]]),
  },
});
