import { Button, Checkbox, Group, Text, TextInput } from '@mantine/core';
import { getHotkeyHandler } from '@mantine/hooks';
import { type ReactNode, useState } from 'react';
import { DataTable } from '../table/data-table';
import { useTexts } from '../texts/texts';
import { onText } from './fields';
import { EditForm, useEdit } from './forms';
import { JsonBlock, Panel, RemoveButton } from './panel';

type Acl = Readonly<Record<string, unknown>>;

interface AclEditorProps {
  readonly value: Acl;
  readonly onChange: (acl: Record<string, unknown>) => void;
  readonly isReadOnly: boolean;
}

const RIGHTS = ['read', 'write'] as const;

function isGranted(entry: unknown, right: (typeof RIGHTS)[number]): boolean {
  return typeof entry === 'object' && entry !== null && (entry as Readonly<Record<string, unknown>>)[right] === true;
}

/** An access list of the REST API: the users and roles that may read or write. */
function AclEditor({ value, onChange, isReadOnly }: AclEditorProps): ReactNode {
  const t = useTexts();
  const [subject, setSubject] = useState('');
  const nameOf = (key: string) => (key === '*' ? t.acl.everyone : key);
  const change = (key: string, right: (typeof RIGHTS)[number]) => {
    const entry = Object.fromEntries(
      RIGHTS.filter((each) => isGranted(value[key], each) !== (each === right)).map((each) => [each, true]),
    );
    onChange({ ...value, [key]: entry });
  };
  const remove = (key: string) => onChange(Object.fromEntries(Object.entries(value).filter(([each]) => each !== key)));
  const add = () => {
    const key = subject.trim();
    if (key === '') return;
    onChange({ ...value, [key]: value[key] ?? { read: true } });
    setSubject('');
  };
  return (
    <>
      <DataTable
        label={t.acl.title}
        rows={Object.entries(value)}
        idOf={([key]) => key}
        columns={[
          { header: t.acl.who, cell: ([key]) => nameOf(key) },
          ...RIGHTS.map((right) => ({
            header: t.acl[right],
            cell: ([key, entry]: readonly [string, unknown]) => (
              <Checkbox
                size="xs"
                aria-label={t.acl.may(nameOf(key), t.acl[right])}
                checked={isGranted(entry, right)}
                disabled={isReadOnly}
                onChange={() => change(key, right)}
              />
            ),
          })),
          {
            header: t.table.acts,
            cell: ([key]) =>
              !isReadOnly && <RemoveButton label={t.acl.remove(nameOf(key))} remove={() => remove(key)} />,
          },
        ]}
      />
      {!isReadOnly && (
        <Group gap="xs" align="flex-end">
          <TextInput
            label={t.acl.add}
            description={t.acl.addSays}
            value={subject}
            onChange={onText(setSubject)}
            onKeyDown={(event) => !event.nativeEvent.isComposing && getHotkeyHandler([['Enter', add]])(event)}
          />
          <Button onClick={add}>{t.acts.add}</Button>
        </Group>
      )}
    </>
  );
}

interface Listed {
  readonly updatedAt: string;
  /** Null: the object has no list, which restricts no one. */
  readonly ACL: Acl | null;
}

interface AclPanelProps<Stored extends Listed> {
  readonly stored: Stored;
  readonly isReadOnly: boolean;
  /** @param base the object whose list was edited @returns the saved object */
  readonly save: (acl: Record<string, unknown>, base: Stored) => Promise<Stored>;
}

/** The access list of an object, which is stored on request. A save overwrites no list but the one that was edited. */
export function AclPanel<Stored extends Listed>({ stored, isReadOnly, save }: AclPanelProps<Stored>): ReactNode {
  const t = useTexts();
  const edit = useEdit<Stored, Record<string, unknown>>(stored, ({ ACL }) => ACL);
  const shown = edit.typed ?? stored.ACL;
  const theirs = <JsonBlock value={stored.ACL} />;
  return (
    <Panel title={t.acl.title}>
      <EditForm edit={edit} save={save} theirs={theirs}>
        {shown === null && <Text>{t.acl.none}</Text>}
        {shown !== null && Object.keys(shown).length === 0 && <Text>{t.acl.empty}</Text>}
        <AclEditor value={shown ?? {}} onChange={edit.type} isReadOnly={isReadOnly} />
      </EditForm>
    </Panel>
  );
}
