import type { ReactNode } from 'react';
import { useFormats, useNow } from '../texts/format';

/** A time as a distance from now, with the time itself in its title. */
export function When({ at }: { readonly at: string | null }): ReactNode {
  const formats = useFormats();
  const now = useNow();
  if (at === null) return '–';
  return (
    <time dateTime={at} title={`${formats.time(at)} (${at})`}>
      {formats.relative(at, now)}
    </time>
  );
}
