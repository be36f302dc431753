import { Button, Group, NativeSelect, Stack, Table, TextInput } from '@mantine/core';
import { useParams } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { type ApplicationDetails, CLASS_NAMES, CLASS_OPERATIONS, consoleApi } from '#console-api';
import { useAct, useMay, useRead } from '../api/queries';
import { Dialog, useNotices } from '../parts/dialogs';
import { Answer, Failure, Page, Panel } from '../parts/panel';
import { listOf } from '../parts/typed.rules';
import { useTexts } from '../texts/texts';

type ClassName = (typeof CLASS_NAMES)[number];
type Operation = (typeof CLASS_OPERATIONS)[number];
type Permission = ApplicationDetails['classPermissions'][ClassName][Operation];

interface Edited {
  readonly className: ClassName;
  readonly operation: Operation;
  readonly permission: Permission;
}

/** The permissions of a class as a whole. */
export function PermissionsPage(): ReactNode {
  const t = useTexts();
  const { appId } = useParams({ from: '/frame/apps/$appId/permissions' });
  const may = useMay(appId);
  const answer = useRead(consoleApi.getApplication, { params: { appId } });
  const [edited, setEdited] = useState<Edited>();
  return (
    <Page title={t.pages.permissions}>
      <Answer of={answer}>
        {({ application }) =>
          CLASS_NAMES.map((className) => (
            <Panel key={className} title={className}>
              <Table aria-label={className} maw="44rem">
                <Table.Thead>
                  <Table.Tr>
                    <Table.Th>{t.permissions.operation}</Table.Th>
                    <Table.Th>{t.permissions.who}</Table.Th>
                    <Table.Th>{t.table.acts}</Table.Th>
                  </Table.Tr>
                </Table.Thead>
                <Table.Tbody>
                  {CLASS_OPERATIONS.map((operation) => {
                    const permission = application.classPermissions[className][operation];
                    return (
                      <Table.Tr key={operation}>
                        <Table.Th scope="row">{t.permissions.operations[operation]}</Table.Th>
                        <Table.Td>
                          <Who permission={permission} />
                        </Table.Td>
                        <Table.Td>
                          {may('permissions.write') && (
                            <Button
                              variant="default"
                              aria-label={`${t.acts.change} ${t.permissions.changeOf(className, t.permissions.operations[operation])}`}
                              onClick={() => {
                                setEdited({ className, operation, permission });
                              }}
                            >
                              {t.acts.change}
                            </Button>
                          )}
                        </Table.Td>
                      </Table.Tr>
                    );
                  })}
                </Table.Tbody>
              </Table>
            </Panel>
          ))
        }
      </Answer>
      {edited !== undefined && (
        <PermissionDialog
          appId={appId}
          edited={edited}
          onClose={() => {
            setEdited(undefined);
          }}
        />
      )}
    </Page>
  );
}

function Who({ permission }: { readonly permission: Permission }): ReactNode {
  const t = useTexts();
  if (!Array.isArray(permission)) return t.permissions.groups[permission];
  return permission.length === 0 ? t.permissions.groups.masterKey : <bdi>{permission.join(', ')}</bdi>;
}

type Choice = 'everyone' | 'users' | 'listed' | 'masterKey';

function groupOf(permission: Permission): Choice {
  if (!Array.isArray(permission)) return permission;
  return permission.length === 0 ? 'masterKey' : 'listed';
}

interface DialogProps {
  readonly appId: string;
  readonly edited: Edited;
  readonly onClose: () => void;
}

function PermissionDialog({ appId, edited, onClose }: DialogProps): ReactNode {
  const t = useTexts();
  const notices = useNotices();
  const change = useAct(consoleApi.changeClassPermission);
  const { className, operation, permission } = edited;
  const listed = Array.isArray(permission) ? permission : [];
  const [group, setGroup] = useState(groupOf(permission));
  const [list, setList] = useState(listed.join(', '));
  const params = { appId, className };
  const save = async () => {
    const lists: Readonly<Record<string, Permission>> = {
      everyone: 'everyone',
      users: 'users',
      masterKey: [],
      listed: listOf(list),
    };
    const operations = [operation];
    const chosen = { operations, permission: lists[group] ?? [], former: permission };
    const { application } = await change.mutateAsync({ params, body: chosen });
    const former = application.classPermissions[className][operation];
    notices.undoable(t.acts.saved, () => change.mutateAsync({ params, body: { operations, permission, former } }));
    onClose();
  };
  return (
    <Dialog title={t.permissions.changeOf(className, t.permissions.operations[operation])} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          save().catch(() => undefined);
        }}
      >
        <Stack gap="sm">
          <NativeSelect
            label={t.permissions.who}
            value={group}
            data={(['everyone', 'users', 'listed', 'masterKey'] as const).map((value) => ({
              value,
              label: t.permissions.groups[value],
            }))}
            onChange={(event) => {
              setGroup(event.currentTarget.value as Choice);
            }}
          />
          {group === 'listed' && (
            <TextInput
              label={t.permissions.list}
              description={t.permissions.listSays}
              value={list}
              onChange={(event) => {
                setList(event.currentTarget.value);
              }}
            />
          )}
          {change.error !== null && <Failure error={change.error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              {t.acts.cancel}
            </Button>
            <Button type="submit" loading={change.isPending}>
              {t.acts.save}
            </Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  );
}
