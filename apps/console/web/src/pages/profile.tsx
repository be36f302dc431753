import { Badge, Button, Group, NativeSelect, Stack, Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { consoleApi, MIN_PASSWORD_LENGTH } from '#console-api';
import { sessionQuery, useAct, useRead, useSession } from '../api/queries';
import { asksForCode, CodeField, PasswordField, passwordMistake } from '../parts/fields';
import { useNotices } from '../parts/dialogs';
import { Failure, Page, Panel } from '../parts/panel';
import { List } from '../table/data-table';
import { When } from '../texts/format';
import { useTexts } from '../texts/texts';
import { IssuerPanel } from './issuer';
import { SecondFactorsPanel } from './second-factors';

export function ProfilePage(): ReactNode {
  const t = useTexts();
  const { operator, hasPasswords } = useSession();
  const usesPassword = hasPasswords && operator?.hasPassword === true;
  return (
    <Page title={t.pages.profile}>
      {operator !== null && <OwnFields name={operator.name} zone={operator.timeZone} address={operator.address} />}
      {usesPassword && <SecondFactorsPanel />}
      {usesPassword && <PasswordPanel />}
      <IssuerPanel />
      <Sessions />
      <Panel title={t.profile.keys}>
        <dl className="facts">
          {t.profile.shortcuts.map(([keys, says]) => (
            <div key={keys}>
              <dt>
                <kbd>{keys}</kbd>
              </dt>
              <dd>{says}</dd>
            </div>
          ))}
        </dl>
      </Panel>
    </Page>
  );
}

interface OwnFieldsProps {
  readonly name: string;
  readonly address: string;
  readonly zone: string | null;
}

function OwnFields({ name, address, zone }: OwnFieldsProps): ReactNode {
  const t = useTexts();
  const queries = useQueryClient();
  const notices = useNotices();
  const change = useAct(consoleApi.changeMe);
  const form = useForm({
    initialValues: { name, timeZone: zone ?? '' },
    validate: { name: (value) => (value.trim() === '' ? t.access.nameWanted : null) },
  });
  const submit = form.onSubmit((values) => {
    change.mutate(
      { body: { name: values.name, timeZone: values.timeZone === '' ? null : values.timeZone } },
      {
        onSuccess: (session) => {
          queries.setQueryData(sessionQuery.queryKey, session);
          form.resetDirty(values);
          notices.done(t.acts.saved);
        },
      },
    );
  });
  return (
    <Panel title={t.profile.you}>
      <form onSubmit={submit} noValidate>
        <Stack gap="sm" maw="28rem">
          <TextInput label={t.access.name} {...form.getInputProps('name')} />
          <TextInput label={t.access.address} value={address} readOnly />
          <NativeSelect
            label={t.profile.zone}
            data={[{ value: '', label: t.profile.browserZone }, ...Intl.supportedValuesOf('timeZone')]}
            {...form.getInputProps('timeZone')}
          />
          <Failure error={change.error} />
          <Group data-unsaved={form.isDirty()}>
            <Button type="submit" loading={change.isPending} disabled={!form.isDirty()}>
              {t.acts.save}
            </Button>
          </Group>
        </Stack>
      </form>
    </Panel>
  );
}

function PasswordPanel(): ReactNode {
  const t = useTexts();
  const queries = useQueryClient();
  const notices = useNotices();
  const change = useAct(consoleApi.changeMyPassword);
  const [needsCode, setNeedsCode] = useState(false);
  const form = useForm({
    initialValues: { oldPassword: '', newPassword: '', code: '' },
    validate: {
      oldPassword: (value) => (value === '' ? t.access.passwordWanted : null),
      newPassword: (value) => passwordMistake(t, value),
    },
  });
  const submit = form.onSubmit(({ code, ...body }) => {
    change.mutate(
      { body: code === '' ? body : { ...body, code } },
      {
        onSuccess: (session) => {
          queries.setQueryData(sessionQuery.queryKey, session);
          form.reset();
          setNeedsCode(false);
          notices.done(t.profile.passwordChanged);
        },
        onError: (failure) => {
          if (asksForCode(failure)) setNeedsCode(true);
        },
      },
    );
  });
  return (
    <Panel title={t.access.password}>
      <form onSubmit={submit} noValidate>
        <Stack gap="sm" maw="28rem">
          <PasswordField
            label={t.profile.oldPassword}
            autoComplete="current-password"
            {...form.getInputProps('oldPassword')}
          />
          <PasswordField
            label={t.access.newPassword}
            description={t.access.passwordRule(MIN_PASSWORD_LENGTH)}
            autoComplete="new-password"
            {...form.getInputProps('newPassword')}
          />
          {needsCode && <CodeField {...form.getInputProps('code')} />}
          <Failure error={asksForCode(change.error) ? null : change.error} />
          <Group>
            <Button type="submit" variant="default" loading={change.isPending}>
              {t.profile.changePassword}
            </Button>
          </Group>
        </Stack>
      </form>
    </Panel>
  );
}

function Sessions(): ReactNode {
  const t = useTexts();
  const sessions = useRead(consoleApi.listMySessions, {});
  const end = useAct(consoleApi.endMySession);
  return (
    <Panel title={t.profile.sessions}>
      <Text size="sm">{t.profile.sessionsSays}</Text>
      <List
        label={t.profile.sessions}
        of={sessions}
        idOf={({ id }) => id}
        columns={[
          { header: t.profile.browser, cell: ({ browser }) => <bdi>{browser}</bdi> },
          { header: t.profile.network, from: 'sm', cell: ({ network }) => network },
          { header: t.profile.used, cell: ({ usedAt }) => <When at={usedAt} /> },
          {
            header: t.table.acts,
            cell: ({ id, isCurrent }) =>
              isCurrent ? (
                <Badge color="good">{t.profile.thisOne}</Badge>
              ) : (
                <Button variant="default" onClick={() => end.mutate({ params: { sessionId: id } })}>
                  {t.profile.end}
                </Button>
              ),
          },
        ]}
      />
      <Failure error={end.error} />
    </Panel>
  );
}
