import { Button, Code, Group, Stack, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { consoleApi, type RoleDetails } from '#console-api';
import { useAct, useMay, useRead } from '../api/queries';
import { AclPanel } from '../parts/acl-editor';
import { AddButton, ActButton, FormDialog, useNotices, useSave } from '../parts/dialogs';
import { onText, UrlText } from '../parts/fields';
import { Form } from '../parts/forms';
import { Answer, Empty, Page, Panel, RemoveButton } from '../parts/panel';
import { DataTable, List } from '../table/data-table';
import { When } from '../texts/format';
import { useTexts } from '../texts/texts';
import { History } from './audit';

const FROM = '/frame/apps/$appId/roles';

export function RolesPage(): ReactNode {
  const t = useTexts();
  const { appId } = useParams({ from: FROM });
  const { q, after } = useSearch({ from: FROM });
  const may = useMay(appId);
  const navigate = useNavigate({ from: '/apps/$appId/roles' });
  const roles = useRead(consoleApi.listRoles, { params: { appId }, query: { text: q, after } });
  const button = may('roles.write') && (
    <AddButton text={t.roles.create}>{(close) => <NewRole appId={appId} onClose={close} />}</AddButton>
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
          onChange={(text) => void navigate({ search: { q: text } })}
        />
        <List
          label={t.pages.roles}
          of={roles}
          page={{ after }}
          idOf={({ objectId }) => objectId}
          empty={<Empty title={t.roles.none} says={t.roles.noneSays} />}
          columns={[
            {
              header: t.roles.name,
              cell: ({ objectId, name }) => (
                <Link to="/apps/$appId/roles/$roleId" params={{ appId, roleId: objectId }}>
                  {name}
                </Link>
              ),
            },
            { header: t.common.updatedAt, cell: ({ updatedAt }) => <When at={updatedAt} /> },
          ]}
        />
      </Panel>
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
  const submit = async () => {
    const body = { ...form.getValues(), ACL: { '*': { read: true } } };
    const { role } = await create.mutateAsync({ params: { appId }, body });
    await navigate({ to: '/apps/$appId/roles/$roleId', params: { appId, roleId: role.objectId } });
  };
  return (
    <FormDialog title={t.roles.create} form={form} submit={submit} onClose={onClose}>
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
  const name = answer.data?.role.name ?? roleId;
  return (
    <Page
      title={name}
      acts={
        may('roles.write') && (
          <ActButton
            title={t.roles.delete}
            says={t.roles.deleteSays}
            button={t.acts.delete}
            typed={name}
            route={consoleApi.deleteRole}
            input={{ params: { appId, roleId } }}
            then={() => navigate({ to: '/apps/$appId/roles', params: { appId } })}
          />
        )
      }
    >
      <Link to="/apps/$appId/roles" params={{ appId }}>
        {t.roles.back}
      </Link>
      <Answer of={answer}>{({ role }) => <RolePanels key={role.objectId} appId={appId} role={role} />}</Answer>
      <History query={{ appId, target: roleId }} />
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
  const change = useSave(consoleApi.changeRole);
  const params = { appId, roleId: role.objectId };
  const swap = (kind: 'Users' | 'Roles', id: string, isAdded: boolean) =>
    change.mutateAsync({ params, body: { [`${isAdded ? 'add' : 'remove'}${kind}`]: [id] } });
  const act = async (kind: 'Users' | 'Roles', id: string, isAdded: boolean) => {
    const { changed } = await swap(kind, id, isAdded);
    if (changed.includes(id)) notices.undoable(t.acts.saved, () => swap(kind, id, !isAdded));
    else notices.done(t.acts.saved);
  };
  const saveAcl = async (ACL: Record<string, unknown>, { ACL: former, updatedAt }: RoleDetails) => {
    const { role: saved } = await change.save({ params, body: { ACL, updatedAt } }, (reply) => ({
      params,
      body: { ACL: former, updatedAt: reply.role.updatedAt },
    }));
    return saved;
  };
  return (
    <Stack>
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
      <AclPanel stored={role} isReadOnly={!may('roles.write')} save={saveAcl} />
    </Stack>
  );
}

interface MembersProps {
  readonly title: string;
  readonly addLabel: string;
  readonly members: readonly { readonly id: string; readonly name: string }[];
  readonly isReadOnly: boolean;
  readonly act: (id: string, isAdded: boolean) => Promise<void>;
}

function Members({ title, addLabel, members, isReadOnly, act }: MembersProps): ReactNode {
  const t = useTexts();
  const notices = useNotices();
  const [id, setId] = useState('');
  const add = async () => {
    await act(id.trim(), true);
    setId((now) => (now === id ? '' : now));
  };
  return (
    <Panel title={title}>
      <DataTable
        label={title}
        rows={members}
        idOf={(member) => member.id}
        empty={<Empty title={t.roles.noMembers} />}
        columns={[
          { header: t.roles.name, cell: ({ name }) => <bdi>{name}</bdi> },
          { header: t.users.fields.id, cell: (member) => <Code>{member.id}</Code> },
          {
            header: t.table.acts,
            cell: (member) =>
              !isReadOnly && (
                <RemoveButton
                  label={t.acl.remove(member.name)}
                  remove={() => void act(member.id, false).catch(notices.failed)}
                />
              ),
          },
        ]}
      />
      {!isReadOnly && (
        <Form
          submit={add}
          buttons={({ isPending }) => (
            <Group>
              <Button type="submit" variant="default" loading={isPending}>
                {t.acts.add}
              </Button>
            </Group>
          )}
        >
          <TextInput label={addLabel} value={id} onChange={onText(setId)} required maw="24rem" />
        </Form>
      )}
    </Panel>
  );
}
