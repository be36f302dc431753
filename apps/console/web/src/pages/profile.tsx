import { Badge, Button, Group, NativeSelect, Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { consoleApi, type Session } from '#console-api';
import { sessionQuery, useAct, useRead, useSession } from '../api/queries';
import { ActButton, useNotices } from '../parts/dialogs';
import { CodeField, NewPasswordField, PasswordField, passwordMistake } from '../parts/fields';
import { Form, useCode } from '../parts/forms';
import { Bdi, Page, Panel } from '../parts/panel';
import { List } from '../table/data-table';
import { useTexts, When } from '../texts/texts';
import { SecondFactorsPanel } from './second-factors';

export function ProfilePage(): ReactNode {
  const t = useTexts();
  const { operator, hasPasswords } = useSession();
  const usesPassword = hasPasswords && operator?.hasPassword === true;
  return (
    <Page title={t.pages.profile}>
      {operator !== null && <OwnFields operator={operator} />}
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

function OwnFields({ operator }: { readonly operator: NonNullable<Session['operator']> }): ReactNode {
  const t = useTexts();
  const queries = useQueryClient();
  const notices = useNotices();
  const change = useAct(consoleApi.changeMe);
  const form = useForm({
    initialValues: { name: operator.name, timeZone: operator.timeZone ?? '' },
    validate: { name: (value) => (value.trim() === '' ? t.access.nameWanted : null) },
  });
  const submit = async () => {
    const values = form.getValues();
    const body = { name: values.name, timeZone: values.timeZone === '' ? null : values.timeZone };
    queries.setQueryData(sessionQuery.queryKey, await change.mutateAsync({ body }));
    form.resetDirty(values);
    notices.done(t.acts.saved);
  };
  return (
    <Panel title={t.profile.you}>
      <Form
        form={form}
        submit={submit}
        maw="28rem"
        buttons={({ isPending }) => (
          <Group data-unsaved={form.isDirty()}>
            <Button variant="filled" type="submit" loading={isPending} disabled={!form.isDirty()}>
              {t.acts.save}
            </Button>
          </Group>
        )}
      >
        <TextInput label={t.access.name} {...form.getInputProps('name')} />
        <TextInput label={t.access.address} value={operator.address} readOnly />
        <NativeSelect
          label={t.profile.zone}
          data={[{ value: '', label: t.profile.browserZone }, ...Intl.supportedValuesOf('timeZone')]}
          {...form.getInputProps('timeZone')}
        />
      </Form>
    </Panel>
  );
}

function PasswordPanel(): ReactNode {
  const t = useTexts();
  const queries = useQueryClient();
  const notices = useNotices();
  const change = useAct(consoleApi.changeMyPassword);
  const { isNeeded: needsCode, ask } = useCode();
  const form = useForm({
    initialValues: { oldPassword: '', newPassword: '', code: '' },
    validate: {
      oldPassword: (value) => (value === '' ? t.access.passwordWanted : null),
      newPassword: (value) => passwordMistake(t, value),
    },
  });
  const submit = async () => {
    const { code, ...body } = form.getValues();
    const session = await ask(change.mutateAsync({ body: code === '' ? body : { ...body, code } }));
    queries.setQueryData(sessionQuery.queryKey, session);
    form.reset();
    notices.done(t.profile.passwordChanged);
  };
  return (
    <Panel title={t.access.password}>
      <Form form={form} submit={submit} button={t.profile.changePassword} maw="28rem">
        <PasswordField
          label={t.profile.oldPassword}
          autoComplete="current-password"
          {...form.getInputProps('oldPassword')}
        />
        <NewPasswordField {...form.getInputProps('newPassword')} />
        {needsCode && <CodeField {...form.getInputProps('code')} />}
      </Form>
    </Panel>
  );
}

function Sessions(): ReactNode {
  const t = useTexts();
  const sessions = useRead(consoleApi.listMySessions, {});
  return (
    <Panel title={t.profile.sessions}>
      <Text>{t.profile.sessionsSays}</Text>
      <List
        label={t.profile.sessions}
        of={sessions}
        idOf={({ id }) => id}
        columns={[
          { header: t.profile.browser, cell: ({ browser }) => <Bdi>{browser}</Bdi> },
          { header: t.profile.network, from: 'sm', cell: ({ network }) => network },
          { header: t.profile.used, cell: ({ usedAt }) => <When at={usedAt} /> },
          {
            header: t.table.acts,
            cell: ({ id, isCurrent }) =>
              isCurrent ? (
                <Badge color="good">{t.profile.thisOne}</Badge>
              ) : (
                <ActButton text={t.profile.end} route={consoleApi.endMySession} input={{ params: { sessionId: id } }} />
              ),
          },
        ]}
      />
    </Panel>
  );
}

function IssuerPanel(): ReactNode {
  const t = useTexts();
  const queries = useQueryClient();
  const { issuer, operator, hasPasswords } = useSession();
  if (issuer === null || operator === null) return null;
  const isOnlyWay = !hasPasswords || !operator.hasPassword;
  const button = operator.isConnected ? (
    <ActButton
      title={t.issuer.disconnect}
      says={t.issuer.disconnectSays}
      button={t.acts.remove}
      route={consoleApi.disconnectOidc}
      input={{}}
      done={() => t.acts.saved}
      then={() => queries.invalidateQueries({ queryKey: sessionQuery.queryKey })}
    />
  ) : (
    <ActButton
      text={t.issuer.connect}
      route={consoleApi.connectOidc}
      input={{}}
      then={({ url }) => location.assign(url)}
    />
  );
  return (
    <Panel title={issuer}>
      <Text>{operator.isConnected ? t.issuer.connected : t.issuer.notConnected}</Text>
      {operator.isConnected && isOnlyWay ? <Text>{t.issuer.onlyWay}</Text> : <Group>{button}</Group>}
    </Panel>
  );
}
