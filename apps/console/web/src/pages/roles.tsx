import { Button, Code, Group, Stack, Table, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { consoleApi, type RoleDetails } from '#console-api';
import { useAct, useMay, useRead } from '../api/queries';
import { AclPanel } from '../parts/acl-editor';
import { Confirm, FormDialog, useNotices } from '../parts/dialogs';
import { UrlText } from '../parts/fields';
import { Icon } from '../parts/icon';
import { Answer, Empty, Failure, Page, Panel } from '../parts/panel';
import { DataTable, Pager } from '../table/data-table';
import { When } from '../texts/format';
import { useTexts } from '../texts/texts';

const FROM = '/frame/apps/$appId/roles';

export function RolesPage(): ReactNode {
  const t = useTexts();
  const { appId } = useParams({ from: FROM });
  const { q, after } = useSearch({ from: FROM });
  const may = useMay(appId);
  const navigate = useNavigate({ from: '/apps/$appId/roles' });
  const [isNewOpen, setNewOpen] = useState(false);
  const roles = useRead(consoleApi.listRoles, {
    params: { appId },
    query: { ...(q === undefined ? {} : { text: q }), ...(after === undefined ? {} : { after }) },
  });
  const button = may('roles.write') && (
    <Button
      leftSection={<Icon name="add" size={16} />}
      onClick={() => {
        setNewOpen(true);
      }}
    >
      {t.roles.create}
    </Button>
  );
  return (
    <Page title={t.pages.roles} acts={button}>
      <Panel>
        <UrlText
          label={t.roles.search}
          type="search"
          size="sm"
          maw="24rem"
          value={q}
          onApply={(text) => void navigate({ search: { q: text } })}
        />
        <Answer of={roles}>
          {({ items, next }) => (
            <>
              {items.length === 0 ? (
                <Empty title={t.roles.none} says={t.roles.noneSays} />
              ) : (
                <DataTable
                  label={t.pages.roles}
                  rows={items}
                  idOf={({ objectId }) => objectId}
                  columns={[
                    {
                      id: 'name',
                      header: t.roles.name,
                      cell: ({ objectId, name }) => (
                        <Link to="/apps/$appId/roles/$roleId" params={{ appId, roleId: objectId }}>
                          {name}
                        </Link>
                      ),
                    },
                    { id: 'updatedAt', header: t.common.updatedAt, cell: ({ updatedAt }) => <When at={updatedAt} /> },
                  ]}
                />
              )}
              <Pager next={next} isFirst={after === undefined} />
            </>
          )}
        </Answer>
      </Panel>
      {isNewOpen && (
        <NewRole
          appId={appId}
          onClose={() => {
            setNewOpen(false);
          }}
        />
      )}
    </Page>
  );
}

function NewRole({ appId, onClose }: { readonly appId: string; readonly onClose: () => void }): ReactNode {
  const t = useTexts();
  const create = useAct(consoleApi.createRole);
  const navigate = useNavigate();
  const form = useForm({
    initialValues: { name: '' },
    validate: { name: (value) => (/^[A-Za-z0-9_]{1,128}$/.test(value) ? null : t.roles.nameRule) },
  });
  const submit = form.onSubmit(({ name }) => {
    create.mutate(
      { params: { appId }, body: { name, ACL: { '*': { read: true } } } },
      {
        onSuccess: ({ role }) =>
          void navigate({ to: '/apps/$appId/roles/$roleId', params: { appId, roleId: role.objectId } }),
      },
    );
  });
  return (
    <FormDialog
      title={t.roles.create}
      onSubmit={submit}
      isPending={create.isPending}
      error={create.error}
      onClose={onClose}
    >
      <TextInput label={t.roles.name} description={t.roles.nameRule} data-autofocus {...form.getInputProps('name')} />
    </FormDialog>
  );
}

export function RolePage(): ReactNode {
  const t = useTexts();
  const { appId, roleId } = useParams({ from: '/frame/apps/$appId/roles/$roleId' });
  const may = useMay(appId);
  const navigate = useNavigate();
  const answer = useRead(consoleApi.getRole, { params: { appId, roleId } });
  const remove = useAct(consoleApi.deleteRole);
  const [isAsking, setAsking] = useState(false);
  const name = answer.data?.role.name ?? roleId;
  return (
    <Page
      title={name}
      acts={
        may('roles.write') && (
          <Button
            color="bad"
            variant="light"
            onClick={() => {
              setAsking(true);
            }}
          >
            {t.roles.delete}
          </Button>
        )
      }
    >
      <Link to="/apps/$appId/roles" params={{ appId }}>
        {t.roles.back}
      </Link>
      <Answer of={answer}>{({ role }) => <RolePanels key={role.objectId} appId={appId} role={role} />}</Answer>
      {isAsking && (
        <Confirm
          title={t.roles.delete}
          says={t.roles.deleteSays}
          button={t.acts.delete}
          typed={name}
          onConfirm={async () => {
            await remove.mutateAsync({ params: { appId, roleId } });
            await navigate({ to: '/apps/$appId/roles', params: { appId } });
          }}
          onClose={() => {
            setAsking(false);
          }}
        />
      )}
    </Page>
  );
}

interface RoleProps {
  readonly appId: string;
  readonly role: RoleDetails;
}

function RolePanels({ appId, role }: RoleProps): ReactNode {
  const t = useTexts();
  const may = useMay(appId);
  const notices = useNotices();
  const change = useAct(consoleApi.changeRole);
  const params = { appId, roleId: role.objectId };
  const swap = (kind: 'Users' | 'Roles', id: string, isAdded: boolean) =>
    change.mutateAsync({ params, body: { [`${isAdded ? 'add' : 'remove'}${kind}`]: [id] } });
  const act = async (kind: 'Users' | 'Roles', id: string, isAdded: boolean) => {
    const { changed } = await swap(kind, id, isAdded);
    if (changed.includes(id)) notices.undoable(t.acts.saved, () => swap(kind, id, !isAdded));
    else notices.done(t.acts.saved);
  };
  const saveAcl = async (ACL: Record<string, unknown>, { ACL: former, updatedAt }: RoleDetails) => {
    const { role: saved } = await change.mutateAsync({ params, body: { ACL, updatedAt } });
    notices.undoable(t.acts.saved, () =>
      change.mutateAsync({ params, body: { ACL: former, updatedAt: saved.updatedAt } }),
    );
    return saved;
  };
  return (
    <Stack>
      {change.error !== null && <Failure error={change.error} />}
      <Members
        title={t.roles.users}
        addLabel={t.roles.addUser}
        members={role.users.map(({ objectId, username }) => ({ id: objectId, name: username ?? objectId }))}
        isReadOnly={!may('roles.write')}
        act={(id, isAdded) => act('Users', id, isAdded)}
      />
      <Members
        title={t.roles.roles}
        addLabel={t.roles.addRole}
        members={role.roles.map(({ objectId, name }) => ({ id: objectId, name }))}
        isReadOnly={!may('roles.write')}
        act={(id, isAdded) => act('Roles', id, isAdded)}
      />
      <AclPanel
        stored={role}
        isReadOnly={!may('roles.write')}
        isPending={change.isPending}
        save={saveAcl}
        onDiscard={change.reset}
      />
    </Stack>
  );
}

interface MembersProps {
  readonly title: string;
  readonly addLabel: string;
  readonly members: readonly { readonly id: string; readonly name: string }[];
  readonly isReadOnly: boolean;
  /** Its failure is shown elsewhere. */
  readonly act: (id: string, isAdded: boolean) => Promise<void>;
}

function Members({ title, addLabel, members, isReadOnly, act }: MembersProps): ReactNode {
  const t = useTexts();
  const [id, setId] = useState('');
  const add = async () => {
    if (id.trim() === '') return;
    await act(id.trim(), true);
    setId((now) => (now === id ? '' : now));
  };
  return (
    <Panel title={title}>
      {members.length === 0 ? (
        <Empty title={t.roles.noMembers} />
      ) : (
        <Table aria-label={title} maw="40rem">
          <Table.Tbody>
            {members.map((member) => (
              <Table.Tr key={member.id}>
                <Table.Th scope="row">
                  <bdi>{member.name}</bdi>
                </Table.Th>
                <Table.Td>
                  <Code>{member.id}</Code>
                </Table.Td>
                <Table.Td>
                  {!isReadOnly && (
                    <Button
                      variant="subtle"
                      aria-label={t.acl.remove(member.name)}
                      onClick={() => {
                        act(member.id, false).catch(() => undefined);
                      }}
                    >
                      <Icon name="close" size={16} />
                    </Button>
                  )}
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      )}
      {!isReadOnly && (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            add().catch(() => undefined);
          }}
        >
          <Group gap="xs" align="flex-end">
            <TextInput
              label={addLabel}
              value={id}
              onChange={(event) => {
                setId(event.currentTarget.value);
              }}
            />
            <Button type="submit" variant="default">
              {t.acts.add}
            </Button>
          </Group>
        </form>
      )}
    </Panel>
  );
}
