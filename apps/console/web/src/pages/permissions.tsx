import { NativeSelect, TextInput } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { type ApplicationDetails, CLASS_NAMES, CLASS_OPERATIONS, consoleApi } from '#console-api';
import { useApp, useRead } from '../api/queries';
import { DialogButton, FormDialog, useSave } from '../parts/dialogs';
import { onText, optionsOf } from '../parts/fields';
import { Answer, Bdi, Page, Panel } from '../parts/panel';
import { listOf } from '../parts/typed.rules';
import { DataTable } from '../table/data-table';
import { type Texts, useTexts } from '../texts/texts';

type ClassName = (typeof CLASS_NAMES)[number];
type Operation = (typeof CLASS_OPERATIONS)[number];
type Permission = ApplicationDetails['classPermissions'][ClassName][Operation];

interface Edited {
  readonly className: ClassName;
  readonly operation: Operation;
  readonly permission: Permission;
}

export function PermissionsPage(): ReactNode {
  const t = useTexts();
  const { appId, may } = useApp();
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
                  { header: t.permissions.operation, cell: (operation) => t.permissions.operations[operation] },
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
                          dialog={
                            <PermissionDialog
                              className={className}
                              operation={operation}
                              permission={application.classPermissions[className][operation]}
                            />
                          }
                        />
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
  return permission.length === 0 ? t.permissions.groups.masterKey : <Bdi>{permission.join(', ')}</Bdi>;
}

type Choice = keyof Texts['permissions']['groups'];

function groupOf(permission: Permission): Choice {
  if (!Array.isArray(permission)) return permission;
  return permission.length === 0 ? 'masterKey' : 'listed';
}

function PermissionDialog(edited: Edited): ReactNode {
  const t = useTexts();
  const { appId } = useApp();
  const change = useSave(consoleApi.changeClassPermission);
  // The save fails if another operator has changed the permissions that this form was opened with.
  const [{ className, operation, permission }] = useState(edited);
  const listed = Array.isArray(permission) ? permission : [];
  const [group, setGroup] = useState(groupOf(permission));
  const [list, setList] = useState(listed.join(', '));
  const save = () => {
    const subjects = group === 'listed' ? listOf(list) : [];
    const chosen = group === 'everyone' || group === 'users' ? group : subjects;
    const body = { operations: [operation], permission: chosen, former: permission };
    return change.save({ params: { appId, className }, body });
  };
  return (
    <FormDialog
      title={t.permissions.changeOf(className, t.permissions.operations[operation])}
      submitText={t.acts.save}
      submit={save}
    >
      <NativeSelect
        label={t.permissions.who}
        value={group}
        data={optionsOf(t.permissions.groups)}
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
