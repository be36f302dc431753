import { Badge } from '@mantine/core';
import type { ReactNode } from 'react';
import { useFormats, useNow } from '../texts/format';
import { useTexts } from '../texts/texts';
import { Icon } from './icon';
import { Bdi } from './panel';

interface CheckedProps {
  readonly value: string | null;
  readonly isVerified: boolean;
  readonly isNumber?: boolean;
}

/** An address or a number, and whether the user has proved it. */
export function Checked({ value, isVerified, isNumber = false }: CheckedProps): ReactNode {
  const t = useTexts();
  if (value === null) return '–';
  const state = isVerified ? t.users.isVerified : t.users.isNotVerified;
  return (
    <span className={isNumber ? 'checked unbroken' : 'checked'}>
      <Bdi>{value}</Bdi>
      <span role="img" aria-label={state} title={state} className={isVerified ? 'is-good' : 'is-quiet'}>
        <Icon name={isVerified ? 'check' : 'close'} size={14} />
      </span>
    </span>
  );
}

export function LockedBadge({ until }: { readonly until: string | null }): ReactNode {
  const t = useTexts();
  const { clock } = useFormats();
  const now = useNow();
  if (until === null || Date.parse(until) <= now) return null;
  return (
    <Badge color="bad" leftSection={<Icon name="lock" size={12} />}>
      {t.users.lockedUntilTime(clock(until))}
    </Badge>
  );
}
