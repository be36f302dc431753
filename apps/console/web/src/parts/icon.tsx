import type { ReactNode } from 'react';
// Outlines of Tabler Icons 3 (https://tabler.io/icons), MIT licence, copyright 2020-2026 Paweł Kuna.
import OUTLINES from './icons.json';

export type IconName = keyof typeof OUTLINES;

/** An outline that repeats what a text beside it says; screen readers skip it. */
export function Icon({ name, size = 18 }: { readonly name: IconName; readonly size?: number }): ReactNode {
  return (
    <svg
      viewBox="0 0 24 24"
      width={size}
      height={size}
      fill="none"
      stroke="currentColor"
      strokeWidth="1.75"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      focusable="false"
    >
      <path d={OUTLINES[name]} />
    </svg>
  );
}
