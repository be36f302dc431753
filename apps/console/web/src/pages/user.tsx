import { Badge, Button, Group, SimpleGrid, Stack, Text, Textarea, TextInput } from '@mantine/core';
import { useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { consoleApi, type UserDetails } from '#console-api';
import { useApp, useRead } from '../api/queries';
import { AclPanel } from '../parts/acl-editor';
import { ActButton, folded, useSave } from '../parts/dialogs';
import { nameIn, onText } from '../parts/fields';
import { EditForm, useEdit } from '../parts/forms';
import { Answer, Bdi, CopyButton, Empty, LockedBadge, Page, PageTabs, Panel } from '../parts/panel';
import { DataTable } from '../table/data-table';
import { useFormats, useTexts, When } from '../texts/texts';
import { History } from './audit';
import { DeviceList } from './devices';
import { MessageList } from './messages';
import { changesBetween, type Typed, typedOf } from './user-profile.rules';

export function UserPage(): ReactNode {
  const t = useTexts();
  const { userId } = useParams({ from: '/frame/apps/$appId/users/$userId' });
  const { appId } = useApp();
  const answer = useRead(consoleApi.getUser, { params: { appId, userId } });
  const user = answer.data?.user;
  const name = user?.username ?? userId;
  const ofUser = (panel: (shown: UserDetails) => ReactNode) => (
    <Answer of={answer} lines={8}>
      {({ user: shown }) => panel(shown)}
    </Answer>
  );
  const listed = (list: ReactNode) => ofUser(() => <Panel>{list}</Panel>);
  return (
    <Page
      name={name}
      title={<Bdi>{name}</Bdi>}
      of={answer}
      history={answer.error?.name === 'USER_NOT_FOUND' && <History query={{ appId, target: userId }} />}
      back={{ to: `/apps/${appId}/users`, text: t.users.back }}
      acts={user !== undefined && <DeleteButton user={user} />}
    >
      <Group gap="sm" fz="sm">
        <Group gap={2}>
          <span>{userId}</span>
          <CopyButton value={userId} />
        </Group>
        <LockedBadge until={user?.lockedUntil ?? null} />
      </Group>
      <PageTabs
        labels={t.user.tabs}
        panels={{
          profile: ofUser((shown) => (
            <SimpleGrid cols={{ base: 1, lg: 2 }}>
              <ProfileForm key={userId} user={shown} />
              <Stack>
                <LockPanel user={shown} />
                <SessionPanel user={shown} />
              </Stack>
            </SimpleGrid>
          )),
          access: ofUser((shown) => <AccessForm key={userId} user={shown} />),
          accounts: ofUser((shown) => <AccountsPanel user={shown} />),
          messages: listed(<MessageList key={userId} query={{ userId }} />),
          devices: listed(<DeviceList key={userId} query={{ userId }} />),
          history: ofUser(() => <History key={userId} query={{ appId, target: userId }} />),
        }}
      />
    </Page>
  );
}

interface UserProps {
  readonly user: UserDetails;
}

function LockPanel({ user }: UserProps): ReactNode {
  const t = useTexts();
  const formats = useFormats();
  const { may } = useApp();
  const { lockedUntil, failures, failedAt, methods } = user.lock;
  const failed = failures === 0 ? t.user.noFailures : t.user.failures(failures, formats.number(failures));
  return (
    <Panel title={lockedUntil === null ? t.user.notLocked : t.user.locked}>
      {!user.hasPassword && <Text>{t.user.noPassword(user.accounts.map(({ platform }) => platform))}</Text>}
      <Text>{lockedUntil === null ? failed : t.user.lockedSays(formats.time(lockedUntil))}</Text>
      {failedAt.length > 0 && (
        <ul className="list">
          {failedAt.map((at, index) => (
            <li key={`${at} ${index}`}>
              {formats.time(at)} {nameIn(t.user.loginMethods, methods[index] ?? '')}
            </li>
          ))}
        </ul>
      )}
      {may('users.write') && <ResetButton user={user} />}
    </Panel>
  );
}

function ResetButton({ user }: UserProps): ReactNode {
  const t = useTexts();
  const { appId } = useApp();
  const recipient = user.email ?? user.mobilePhoneNumber;
  if (recipient === null) return <Text>{t.user.noRecipient}</Text>;
  return (
    <Group>
      <ActButton
        title={t.user.sendReset}
        says={t.user.sendResetSays(recipient)}
        button={t.acts.send}
        route={consoleApi.sendPasswordReset}
        input={{ params: { appId, userId: user.objectId } }}
        done={(reply) => t.user.sentTo(reply.recipient)}
      />
    </Group>
  );
}

function SessionPanel({ user }: UserProps): ReactNode {
  const t = useTexts();
  const { appId, may } = useApp();
  const input = { params: { appId, userId: user.objectId } };
  return (
    <Panel title={t.user.session}>
      <Text>
        {t.user.changed} <When at={user.updatedAt} isFull /> · {t.user.signedUp} <When at={user.createdAt} isFull />
      </Text>
      {may('users.write') && (
        <Group gap="xs">
          <ActButton
            title={t.user.endSession}
            says={t.user.endSessionSays}
            route={consoleApi.endUserSession}
            input={input}
            done={() => t.user.sessionEnded}
          />
          {user.email !== null && !user.emailVerified && (
            <ActButton
              title={t.user.sendVerification}
              says={t.user.sendVerificationSays(user.email)}
              button={t.acts.send}
              route={consoleApi.sendVerification}
              input={input}
              done={({ recipient }) => t.user.sentTo(recipient)}
            />
          )}
        </Group>
      )}
    </Panel>
  );
}

function AccountsPanel({ user }: UserProps): ReactNode {
  const t = useTexts();
  const { appId } = useApp();
  return (
    <Panel>
      <DataTable
        label={t.user.tabs.accounts}
        rows={user.accounts}
        empty={<Empty title={t.user.noAccounts} says={t.user.noAccountsSays} />}
        idOf={({ platform }) => platform}
        columns={[
          { header: t.users.platform, cell: ({ platform }) => platform },
          { header: t.user.uid, cell: ({ uid }) => <Bdi>{uid}</Bdi> },
          {
            header: t.users.state,
            cell: ({ isVerified }) => (
              <Badge color={isVerified ? 'good' : 'warning'}>
                {isVerified ? t.users.isVerified : t.users.isNotVerified}
              </Badge>
            ),
          },
          {
            header: t.table.acts,
            cell: ({ platform }) => (
              <ActButton
                text={t.user.unlink}
                title={t.user.unlinkTitle(platform)}
                says={t.user.unlinkSays}
                typed={platform}
                route={consoleApi.unlinkAccount}
                input={{ params: { appId, userId: user.objectId }, body: { platform } }}
                done={() => t.user.unlinked}
              />
            ),
          },
        ]}
      />
    </Panel>
  );
}

function DeleteButton({ user }: UserProps): ReactNode {
  const t = useTexts();
  const { appId } = useApp();
  return (
    <ActButton
      text={t.users.deleteOne}
      title={t.users.deleteTitle(1)}
      says={t.users.deleteSays}
      button={t.acts.delete}
      typed={folded(user.username ?? '') || user.objectId}
      route={consoleApi.deleteUsers}
      input={{ params: { appId }, body: { userIds: [user.objectId] } }}
      done={() => t.users.deleted(1)}
      leadsTo={`/apps/${appId}/users`}
    />
  );
}

function AccessForm({ user }: UserProps): ReactNode {
  const t = useTexts();
  const { may } = useApp();
  const change = useChangeUser();
  return (
    <Stack>
      <Panel title={t.pages.roles}>
        {user.roles.length === 0 ? (
          <Text>{t.user.noRoles}</Text>
        ) : (
          <Group gap="xs">
            {user.roles.map((role) => (
              <Badge key={role}>{role}</Badge>
            ))}
          </Group>
        )}
      </Panel>
      <AclPanel stored={user} isReadOnly={!may('users.acl')} save={(ACL, base) => change(base, { ACL })} />
    </Stack>
  );
}

/** @returns a function that saves changes of a user, with Undo, unless another operator has changed the user since */
function useChangeUser(): (on: UserDetails, changes: Record<string, unknown>) => Promise<UserDetails> {
  const { appId } = useApp();
  const change = useSave(consoleApi.changeUser);
  return async ({ objectId, updatedAt }, changes) =>
    (await change.save({ params: { appId, userId: objectId }, body: { updatedAt, changes } })).user;
}

/** The fields of a user. A save carries the time of the user that was read: it never overwrites what another has changed since. */
function ProfileForm({ user }: { readonly user: UserDetails }): ReactNode {
  const t = useTexts();
  const { may } = useApp();
  const change = useChangeUser();
  const edit = useEdit<UserDetails, Partial<Typed>>(user, typedOf);
  const { base, typed = {} } = edit;
  const save = (values: Partial<Typed>, on: UserDetails) => change(on, changesBetween(base, values));
  const take = (name: keyof Typed) => {
    const { [name]: _, ...rest } = typed;
    if (Object.keys(rest).length === 0) edit.discard();
    else edit.type(rest);
  };
  const shown = { ...typedOf(base), ...typed };
  const verified = (isVerified: boolean) => (isVerified ? t.users.isVerified : t.users.isNotVerified);
  const fieldOf = (name: keyof Typed) => ({
    value: shown[name],
    readOnly: !may('users.write'),
    onChange: onText((value) => edit.type({ ...typed, [name]: value })),
  });
  return (
    <Panel title={t.user.profile}>
      <EditForm edit={edit} save={save} theirs={<Conflict theirs={user} base={base} typed={typed} take={take} />}>
        <TextInput label={t.users.fields.username} {...fieldOf('username')} />
        <TextInput
          label={t.users.fields.email}
          type="email"
          description={base.email !== null && verified(base.emailVerified)}
          {...fieldOf('email')}
        />
        <TextInput
          label={t.users.fields.phone}
          type="tel"
          description={base.mobilePhoneNumber !== null && verified(base.mobilePhoneVerified)}
          {...fieldOf('mobilePhoneNumber')}
        />
        <Textarea
          label={t.user.fields}
          description={t.user.fieldsSays}
          autosize={false}
          rows={8}
          className="code"
          {...fieldOf('fields')}
        />
      </EditForm>
    </Panel>
  );
}

interface ConflictProps {
  readonly theirs: UserDetails;
  readonly base: UserDetails;
  readonly typed: Partial<Typed>;
  readonly take: (name: keyof Typed) => void;
}

function Conflict({ theirs, base, typed, take }: ConflictProps): ReactNode {
  const t = useTexts();
  const names: Readonly<Record<keyof Typed, string>> = {
    ...t.users.fields,
    mobilePhoneNumber: t.users.fields.phone,
    fields: t.user.fields,
  };
  const before = typedOf(base);
  const after = typedOf(theirs);
  const rows = (Object.keys(before) as (keyof Typed)[]).filter((name) => before[name] !== after[name] || name in typed);
  return (
    <DataTable
      label={t.user.conflict}
      rows={rows}
      idOf={(name) => name}
      columns={[
        { header: t.user.field, cell: (name) => names[name] },
        { header: t.user.theirs, cell: (name) => <Bdi className="wrap">{after[name]}</Bdi> },
        {
          header: t.user.yours,
          cell: (name) => (
            <>
              <Bdi className="wrap">{typed[name] ?? '–'}</Bdi>{' '}
              {name in typed && <Button onClick={() => take(name)}>{t.user.takeTheirs}</Button>}
            </>
          ),
        },
      ]}
    />
  );
}
