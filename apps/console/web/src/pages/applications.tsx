import { TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { Navigate, useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { consoleApi } from '#console-api';
import { useAct, useApplications, useMay } from '../api/queries';
import { AddButton, FormDialog } from '../parts/dialogs';
import { Answer, Empty, Page, Panel } from '../parts/panel';
import { List, RowLink } from '../table/data-table';
import { useTexts, When } from '../texts/texts';

/** `/`: the overview of the application that was looked at last, else of the newest. */
export function HomePage(): ReactNode {
  const applications = useApplications();
  return (
    <Answer of={applications}>
      {({ items }) => {
        const stored = localStorage.getItem('gatepost-app');
        const shown = items.find(({ id }) => id === stored) ?? items[0];
        if (shown === undefined) return <Navigate to="/apps" replace />;
        return <Navigate to="/apps/$appId/overview" params={{ appId: shown.id }} replace />;
      }}
    </Answer>
  );
}

export function ApplicationsPage(): ReactNode {
  const t = useTexts();
  const mayCreate = useMay('*')('apps.create');
  const applications = useApplications();
  const button = <AddButton text={t.applications.create} dialog={<NewApplication />} />;
  return (
    <Page title={t.shell.applicationsTitle} acts={mayCreate && button}>
      <Panel>
        <List
          label={t.shell.applicationsTitle}
          of={applications}
          idOf={({ id }) => id}
          empty={
            <Empty
              title={t.applications.none}
              says={mayCreate ? t.applications.noneSays : t.applications.noneGranted}
              {...(mayCreate ? { command: 'npm run gatepost -- apps create "My shop"' } : {})}
            />
          }
          columns={[
            {
              header: t.applications.name,
              cell: ({ id, name }) => <RowLink to={`/apps/${id}/overview`}>{name}</RowLink>,
            },
            { header: t.applications.id, cell: ({ id }) => id, from: 'sm' },
            { header: t.common.createdAt, cell: ({ createdAt }) => <When at={createdAt} /> },
          ]}
        />
      </Panel>
    </Page>
  );
}

function NewApplication(): ReactNode {
  const t = useTexts();
  const create = useAct(consoleApi.createApplication);
  const navigate = useNavigate();
  const form = useForm({
    initialValues: { name: '', id: '' },
    validate: {
      name: (value) => (value.trim() === '' ? t.access.nameWanted : null),
      id: (value) => (/^[A-Za-z0-9_-]{0,64}$/.test(value) ? null : t.applications.idRule),
    },
  });
  const submit = async () => {
    const { name, id } = form.getValues();
    const { application } = await create.mutateAsync({ body: { name, ...(id === '' ? {} : { id }) } });
    await navigate({ to: '/apps/$appId/overview', params: { appId: application.id } });
  };
  return (
    <FormDialog title={t.applications.create} form={form} submit={submit}>
      <TextInput label={t.applications.name} data-autofocus {...form.getInputProps('name')} />
      <TextInput label={t.applications.id} description={t.applications.idSays} {...form.getInputProps('id')} />
    </FormDialog>
  );
}
