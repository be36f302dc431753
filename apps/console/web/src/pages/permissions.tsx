import { NativeSelect, TextInput } from '@mantine/core';
import { useParams } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { type ApplicationDetails, CLASS_NAMES, CLASS_OPERATIONS, consoleApi } from '#console-api';
import { useMay, useRead } from '../api/queries';
import { DialogButton, FormDialog, useSave } from '../parts/dialogs';
import { onText } from '../parts/fields';
import { Answer, Page, Panel } from '../parts/panel';
import { listOf } from '../parts/typed.rules';
import { DataTable } from '../table/data-table';
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
  return (
    <Page title={t.pages.permissions}>
      <Answer of={answer}>
        {({ application }) =>
          CLASS_NAMES.map((className) => (
            <Panel key={className} title={className}>
              <DataTable
                label={className}
                rows={CLASS_OPERATIONS}
                idOf={(operation) => operation}
                columns={[
                  {
                    header: t.permissions.operation,
                    cell: (operation) => t.permissions.operations[operation],
                  },
                  {
                    header: t.permissions.who,
                    cell: (operation) => <Who permission={application.classPermissions[className][operation]} />,
                  },
                  {
                    header: t.table.acts,
                    cell: (operation) =>
                      may('permissions.write') && (
                        <DialogButton
                          text={t.acts.change}
                          variant="default"
                          name={`${t.acts.change} ${t.permissions.changeOf(className, t.permissions.operations[operation])}`}
                        >
                          {(close) => (
                            <PermissionDialog
                              appId={appId}
                              edited={{
                                className,
                                operation,
                                permission: application.classPermissions[className][operation],
                              }}
                              onClose={close}
                            />
                          )}
                        </DialogButton>
                      ),
                  },
                ]}
              />
            </Panel>
          ))
        }
      </Answer>
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
  const change = useSave(consoleApi.changeClassPermission);
  // The save fails if another operator has changed the permissions that this form was opened with.
  const [{ className, operation, permission }] = useState(edited);
  const listed = Array.isArray(permission) ? permission : [];
  const [group, setGroup] = useState(groupOf(permission));
  const [list, setList] = useState(listed.join(', '));
  const params = { appId, className };
  const save = () => {
    const lists: Readonly<Record<string, Permission>> = {
      everyone: 'everyone',
      users: 'users',
      masterKey: [],
      listed: listOf(list),
    };
    const operations = [operation];
    const chosen = { operations, permission: lists[group] ?? [], former: permission };
    return change.save({ params, body: chosen }, ({ application }) => ({
      params,
      body: { operations, permission, former: application.classPermissions[className][operation] },
    }));
  };
  return (
    <FormDialog
      title={t.permissions.changeOf(className, t.permissions.operations[operation])}
      submitText={t.acts.save}
      submit={save}
      onClose={onClose}
    >
      <NativeSelect
        label={t.permissions.who}
        value={group}
        data={(['everyone', 'users', 'listed', 'masterKey'] as const).map((value) => ({
          value,
          label: t.permissions.groups[value],
        }))}
        onChange={onText((value) => setGroup(value as Choice))}
      />
      {group === 'listed' && (
        <TextInput
          label={t.permissions.list}
          description={t.permissions.listSays}
          value={list}
          onChange={onText(setList)}
        />
      )}
    </FormDialog>
  );
}
