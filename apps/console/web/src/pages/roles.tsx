import { Code, Stack, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { consoleApi, type RoleDetails } from '#console-api';
import { call } from '../api/call';
import { useAct, useApp, useRead } from '../api/queries';
import { AclPanel } from '../parts/acl-editor';
import { AddButton, ActButton, FormDialog, useNotices, useSave } from '../parts/dialogs';
import { onText, UrlText, useUrlFilters } from '../parts/fields';
import { Form } from '../parts/forms';
import { Answer, Empty, Page, Panel, RemoveButton } from '../parts/panel';
import { type Column, DataTable, List, RowLink } from '../table/data-table';
import { useTexts, When } from '../texts/texts';
import { History } from './audit';

const FROM = '/frame/apps/$appId/roles';
const ROLE = '/frame/apps/$appId/roles/$roleId';

export function RolesPage(): ReactNode {
  const t = useTexts();
  const { appId, may } = useApp();
  const search = useSearch({ from: FROM });
  const { q, after } = search;
  const { filter } = useUrlFilters(search);
  const roles = useRead(consoleApi.listRoles, { params: { appId }, query: { text: q, after } });
  return (
    <Page title={t.pages.roles} acts={may('roles.write') && <AddButton text={t.roles.create} dialog={<NewRole />} />}>
      <Panel>
        <UrlText label={t.roles.search} type="search" size="sm" maw="24rem" {...filter('q')} />
        <List
          label={t.pages.roles}
          of={roles}
          page={{ after }}
          idOf={({ objectId }) => objectId}
          empty={<Empty title={t.roles.none} says={t.roles.noneSays} />}
          columns={[
            {
              header: t.roles.name,
              cell: ({ objectId, name }) => <RowLink to={`/apps/${appId}/roles/${objectId}`}>{name}</RowLink>,
            },
            { header: t.common.updatedAt, cell: ({ updatedAt }) => <When at={updatedAt} /> },
          ]}
        />
      </Panel>
    </Page>
  );
}

function NewRole(): ReactNode {
  const t = useTexts();
  const { appId } = useApp();
  const create = useAct(consoleApi.createRole);
  const navigate = useNavigate();
  const form = useForm({
    initialValues: { name: '' },
    validate: { name: (value) => (/^[A-Za-z0-9_]{1,128}$/.test(value) ? null : t.roles.nameRule) },
  });
  const submit = async () => {
    const body = { ...form.getValues(), ACL: { '*': { read: true } } };
    const { role } = await create.mutateAsync({ params: { appId }, body });
    await navigate({ to: '/apps/$appId/roles/$roleId', params: { appId, roleId: role.objectId } });
  };
  return (
    <FormDialog title={t.roles.create} form={form} submit={submit}>
      <TextInput label={t.roles.name} description={t.roles.nameRule} data-autofocus {...form.getInputProps('name')} />
    </FormDialog>
  );
}

export function RolePage(): ReactNode {
  const t = useTexts();
  const { roleId } = useParams({ from: ROLE });
  const { appId } = useApp();
  const answer = useRead(consoleApi.getRole, { params: { appId, roleId } });
  const name = answer.data?.role.name ?? roleId;
  return (
    <Page
      title={name}
      of={answer}
      history={<History query={{ appId, target: roleId }} />}
      back={{ to: `/apps/${appId}/roles`, text: t.roles.back }}
      acts={
        <ActButton
          title={t.roles.delete}
          says={t.roles.deleteSays}
          button={t.acts.delete}
          typed={name}
          route={consoleApi.deleteRole}
          input={{ params: { appId, roleId } }}
          leadsTo={`/apps/${appId}/roles`}
        />
      }
    >
      <Answer of={answer}>{({ role }) => <RolePanels key={role.objectId} role={role} />}</Answer>
    </Page>
  );
}

type Kind = 'Users' | 'Roles';

function RolePanels({ role }: { readonly role: RoleDetails }): ReactNode {
  const t = useTexts();
  const { appId, may } = useApp();
  const search = useSearch({ from: ROLE });
  const { after, q } = search;
  const { filter } = useUrlFilters(search);
  const notices = useNotices();
  const change = useSave(consoleApi.changeRole);
  const params = { appId, roleId: role.objectId };
  const users = useRead(consoleApi.listRoleUsers, { params, query: { after, text: q } });
  const act = (kind: Kind, id: string, isAdded: boolean) =>
    change.save({ params, body: { [`${isAdded ? 'add' : 'remove'}${kind}`]: [id] } });
  const addUser = async (given: string) => {
    const where = JSON.stringify({ $or: [{ objectId: given }, { username: given }] });
    const { items } = await call(consoleApi.listUsers, { params: { appId }, query: { where, limit: 2 } });
    // The name of a user can be the id of another one: the id comes first.
    const user = items.find(({ objectId }) => objectId === given) ?? items[0];
    await act('Users', user?.objectId ?? given, true);
  };
  const saveAcl = async (ACL: Record<string, unknown>, { updatedAt }: RoleDetails) =>
    (await change.save({ params, body: { ACL, updatedAt } })).role;
  const mayWrite = may('roles.write');
  const columnsOf = (kind: Kind): readonly Column<Member>[] => [
    {
      header: t.roles.name,
      cell: ({ objectId, username, name = username ?? objectId }) => (
        <RowLink to={`/apps/${appId}/${kind.toLowerCase()}/${encodeURIComponent(objectId)}`}>{name}</RowLink>
      ),
    },
    { header: t.users.fields.id, cell: ({ objectId }) => <Code>{objectId}</Code> },
    {
      header: t.table.acts,
      cell: ({ objectId, username, name = username ?? objectId }) =>
        mayWrite && (
          <RemoveButton
            label={t.acl.remove(name)}
            remove={() => void act(kind, objectId, false).catch(notices.failed)}
          />
        ),
    },
  ];
  const table = { idOf: ({ objectId }: Member) => objectId, empty: <Empty title={t.roles.noMembers} /> };
  return (
    <Stack>
      <Panel title={t.roles.users}>
        {may('users.contact') && <UrlText label={t.roles.searchUsers} type="search" maw="24rem" {...filter('q')} />}
        <List label={t.roles.users} of={users} page={{ after }} columns={columnsOf('Users')} {...table} />
        {mayWrite && <AddMember label={t.roles.addUser} add={addUser} />}
      </Panel>
      <Panel title={t.roles.roles}>
        <DataTable label={t.roles.roles} rows={role.roles} columns={columnsOf('Roles')} {...table} />
        {mayWrite && <AddMember label={t.roles.addRole} add={(id) => act('Roles', id, true)} />}
      </Panel>
      <AclPanel stored={role} isReadOnly={!mayWrite} save={saveAcl} />
    </Stack>
  );
}

interface Member {
  readonly objectId: string;
  readonly name?: string;
  readonly username?: string | null;
}

interface AddMemberProps {
  readonly label: string;
  readonly add: (given: string) => Promise<unknown>;
}

function AddMember({ label, add }: AddMemberProps): ReactNode {
  const t = useTexts();
  const [given, setGiven] = useState('');
  const submit = async () => {
    await add(given.trim());
    setGiven((now) => (now === given ? '' : now));
  };
  return (
    <Form submit={submit} button={t.acts.add} maw="24rem">
      <TextInput label={label} value={given} onChange={onText(setGiven)} required withAsterisk={false} />
    </Form>
  );
}
