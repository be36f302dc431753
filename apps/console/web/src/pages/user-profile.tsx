import { Button, Textarea, TextInput } from '@mantine/core';
import type { ReactNode } from 'react';
import { consoleApi, type UserDetails } from '#console-api';
import { useApp } from '../api/queries';
import { useSave } from '../parts/dialogs';
import { onText } from '../parts/fields';
import { EditForm, useEdit } from '../parts/forms';
import { Bdi, Panel } from '../parts/panel';
import { DataTable } from '../table/data-table';
import { useTexts } from '../texts/texts';
import { changesBetween, type Typed, typedOf } from './user-profile.rules';

/** @returns a function that saves changes of a user, with Undo, unless another operator has changed the user since */
export function useChangeUser(): (on: UserDetails, changes: Record<string, unknown>) => Promise<UserDetails> {
  const { appId } = useApp();
  const change = useSave(consoleApi.changeUser);
  return async ({ objectId, updatedAt }, changes) =>
    (await change.save({ params: { appId, userId: objectId }, body: { updatedAt, changes } })).user;
}

/** The fields of a user. A save carries the time of the user that was read: it never overwrites what another has changed since. */
export function ProfileForm({ user }: { readonly user: UserDetails }): ReactNode {
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
