import { Button, Stack } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { Empty, Failure } from '../parts/panel';
import { useTexts } from '../texts/texts';

export function NotFound(): ReactNode {
  const t = useTexts();
  return (
    <Empty title={t.states.noPage} says={t.states.noPageSays}>
      <Link to="/">{t.states.home}</Link>
    </Empty>
  );
}

/** A page that failed to load: a new version of the console may have replaced it. */
export function PageProblem({ error }: { readonly error: unknown }): ReactNode {
  const t = useTexts();
  return (
    <Stack p="md" align="flex-start">
      <Failure error={error instanceof Error ? error : new Error(String(error))} />
      <Button variant="filled" onClick={() => location.reload()}>
        {t.states.reload}
      </Button>
    </Stack>
  );
}
