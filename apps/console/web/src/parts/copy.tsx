import { ActionIcon, Tooltip } from '@mantine/core';
import { useClipboard } from '@mantine/hooks';
import type { ReactNode } from 'react';
import { useTexts } from '../texts/texts';
import { Icon } from './icon';

export function CopyButton({ value }: { readonly value: string }): ReactNode {
  const t = useTexts();
  const clipboard = useClipboard({ timeout: 1_500 });
  const label = clipboard.copied ? t.acts.copied : t.acts.copy;
  return (
    <Tooltip label={label}>
      <ActionIcon
        variant="subtle"
        color="gray"
        aria-label={`${label}: ${value}`}
        onClick={() => {
          clipboard.copy(value);
        }}
      >
        <Icon name={clipboard.copied ? 'check' : 'copy'} size={16} />
      </ActionIcon>
    </Tooltip>
  );
}
