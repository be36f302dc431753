import { Button, Stack } from '@mantine/core';
import { Link, Outlet, useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useApplications } from '../api/queries';
import { Empty, Failure } from '../parts/panel';
import { useTexts } from '../texts/texts';

export function NotFound(): ReactNode {
  return <NoPage says={useTexts().states.noPageSays} />;
}

function NoPage({ says }: { readonly says: string }): ReactNode {
  const t = useTexts();
  return (
    <Empty title={t.states.noPage} says={says}>
      <Link to="/">{t.states.home}</Link>
    </Empty>
  );
}

/** The pages of an application. An id of none, or of one without a role for the operator, has no pages. */
export function OfApplication(): ReactNode {
  const { appId } = useParams({ strict: false });
  const { data } = useApplications();
  const isMissing = data?.items.every(({ id }) => id !== appId) === true;
  const { problems } = useTexts();
  return isMissing ? <NoPage says={problems.NOT_FOUND} /> : <Outlet />;
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
