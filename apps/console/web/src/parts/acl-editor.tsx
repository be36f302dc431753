import { Button, Checkbox, Group, Text, TextInput } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { DataTable } from '../table/data-table';
import { useTexts } from '../texts/texts';
import { onText } from './fields';
import { Failure, Panel, RemoveButton, SaveOrDiscard } from './panel';

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

/** An access list of the REST API: who may read, who may write. */
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
    onChange({ ...value, [key]: { read: true } });
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
          <TextInput label={t.acl.add} description={t.acl.addSays} value={subject} onChange={onText(setSubject)} />
          <Button variant="default" onClick={add}>
            {t.acts.add}
          </Button>
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
  readonly isPending: boolean;
  readonly error?: Error | null;
  /** @param base the object whose list was edited @returns the saved object */
  readonly save: (acl: Record<string, unknown>, base: Stored) => Promise<Stored>;
  /** The edited list is gone, and with it its error. */
  readonly onDiscard: () => void;
}

/** `typed`: the list as edited here, undefined without an edit. */
function useTypedAcl<Stored extends Listed>({ stored, save, onDiscard }: AclPanelProps<Stored>) {
  const [typed, setTyped] = useState<Record<string, unknown>>();
  const [edited, setEdited] = useState(stored);
  // The base stays the object of the first edit. A later version replaces it only if its list is the same.
  const base = typed === undefined || isSame(edited.ACL, stored.ACL) ? stored : edited;
  const change = (acl: Record<string, unknown>) => {
    setEdited(base);
    setTyped(acl);
  };
  const store = async (acl: Record<string, unknown>) => {
    setEdited(await save(acl, base));
    setTyped((now) => (now === acl ? undefined : now));
  };
  const discard = () => {
    setTyped(undefined);
    onDiscard();
  };
  return { typed, change, store, discard };
}

/** The access list of an object, which is stored on request. A save overwrites no list but the one that was edited. */
export function AclPanel<Stored extends Listed>(props: AclPanelProps<Stored>): ReactNode {
  const { stored, isReadOnly, isPending, error = null } = props;
  const t = useTexts();
  const { typed, change, store, discard } = useTypedAcl(props);
  const shown = typed ?? stored.ACL;
  return (
    <Panel title={t.acl.title}>
      {shown === null && <Text size="sm">{t.acl.none}</Text>}
      {shown !== null && Object.keys(shown).length === 0 && <Text size="sm">{t.acl.empty}</Text>}
      <AclEditor value={shown ?? {}} onChange={change} isReadOnly={isReadOnly} />
      <Failure error={error} />
      {typed !== undefined && (
        <SaveOrDiscard isPending={isPending} save={() => void store(typed).catch(() => undefined)} discard={discard} />
      )}
    </Panel>
  );
}

function isSame(one: Acl | null, other: Acl | null): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
