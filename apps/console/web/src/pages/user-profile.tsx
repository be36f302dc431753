import { Alert, Button, Group, Stack, Textarea, TextInput } from '@mantine/core';
import { useHotkeys } from '@mantine/hooks';
import { type ReactNode, useRef, useState } from 'react';
import { consoleApi, type UserDetails } from '#console-api';
import { call, CallError } from '../api/call';
import { useAct, useMay } from '../api/queries';
import { useNotices } from '../parts/dialogs';
import { NoJson, onText, typedSince } from '../parts/fields';
import { Icon } from '../parts/icon';
import { Failure, Panel } from '../parts/panel';
import { DataTable } from '../table/data-table';
import { useTexts } from '../texts/texts';
import { changesBetween, type Typed, typedOf, valuesOf } from './user-profile.rules';

interface ProfileProps {
  readonly appId: string;
  readonly user: UserDetails;
}

/** The fields of a user. A save carries the time of the user that was read: it never overwrites what another has changed since. */
export function ProfileForm({ appId, user }: ProfileProps): ReactNode {
  const t = useTexts();
  const may = useMay(appId);
  const { base, typed, setTyped, conflict, error, isBusy, save, discard, take } = useProfile(appId, user);
  const isChanged = Object.keys(typed).length > 0;
  const canSave = isChanged && !isBusy && conflict === undefined;
  useHotkeys(
    [
      [
        'mod+S',
        () => {
          if (canSave) void save(base);
        },
      ],
    ],
    [],
  );
  const shown = { ...typedOf(base), ...typed };
  const verified = (isVerified: boolean) => (isVerified ? t.users.isVerified : t.users.isNotVerified);
  const fieldOf = (name: keyof Typed) => ({
    value: shown[name],
    readOnly: !may('users.write'),
    onChange: onText((value) => setTyped((old) => ({ ...old, [name]: value }))),
  });
  return (
    <Panel title={t.user.profile}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void save(base);
        }}
      >
        <Stack gap="sm">
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
          {error instanceof SyntaxError && <NoJson problem={error.message} />}
          {error !== undefined && !(error instanceof SyntaxError) && <Failure error={error} />}
          {conflict !== undefined && (
            <Conflict theirs={conflict} base={base} typed={typed} take={take} keep={() => void save(conflict)} />
          )}
          {may('users.write') && (
            <Group gap="xs" data-unsaved={isChanged}>
              <Button type="submit" loading={isBusy} disabled={!canSave}>
                {t.acts.save}
              </Button>
              <Button variant="default" disabled={!isChanged} onClick={discard}>
                {t.acts.discard}
              </Button>
            </Group>
          )}
        </Stack>
      </form>
    </Panel>
  );
}

/** `base`: the user on which the typed values are judged. `conflict`: the user as another operator has left it. */
function useProfile(appId: string, user: UserDetails) {
  const t = useTexts();
  const notices = useNotices();
  const change = useAct(consoleApi.changeUser);
  const params = { appId, userId: user.objectId };
  const [edited, setEdited] = useState<UserDetails>();
  const [typed, setTyped] = useState<Partial<Typed>>({});
  const [conflict, setConflict] = useState<UserDetails>();
  const [error, setError] = useState<Error>();
  const sent = useRef<Partial<Typed>>(undefined);
  // Changes compare with the user as it was when the operator began to type.
  const base = Object.keys(typed).length > 0 && edited !== undefined ? edited : user;
  const discard = () => {
    setTyped({});
    setConflict(undefined);
    setError(undefined);
  };
  const showTheirs = () =>
    call(consoleApi.getUser, { params }).then(({ user: theirs }) => setConflict(theirs), setError);
  const save = async (on: UserDetails) => {
    // A key that is held saves again before the page has shown the first save.
    if (sent.current === typed) return;
    sent.current = typed;
    setError(undefined);
    try {
      const changes = changesBetween(base, typed);
      const reply = await change.mutateAsync({ params, body: { updatedAt: on.updatedAt, changes } });
      const former = valuesOf(on, Object.keys(changes));
      notices.undoable(t.acts.saved, () =>
        change.mutateAsync({ params, body: { updatedAt: reply.user.updatedAt, changes: former } }),
      );
      setEdited(reply.user);
      setTyped((now) => typedSince(now, typed));
      setConflict(undefined);
    } catch (failure) {
      sent.current = undefined;
      if (failure instanceof CallError && failure.name === 'NO_EFFECT') await showTheirs();
      else setError(failure as Error);
    }
  };
  const type = (next: (old: Partial<Typed>) => Partial<Typed>) => {
    if (Object.keys(typed).length === 0) setEdited(user);
    setTyped(next);
  };
  const take = (name: keyof Typed) => {
    setTyped((old) => Object.fromEntries(Object.entries(old).filter(([each]) => each !== name)));
    if (Object.keys(typed).length <= 1) discard();
  };
  return { base, typed, setTyped: type, conflict, error, isBusy: change.isPending, save, discard, take };
}

interface ConflictProps {
  readonly theirs: UserDetails;
  readonly base: UserDetails;
  readonly typed: Partial<Typed>;
  readonly take: (name: keyof Typed) => void;
  readonly keep: () => void;
}

/** The changes of another operator beside the values typed here. */
function Conflict({ theirs, base, typed, take, keep }: ConflictProps): ReactNode {
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
    <Alert color="warning" title={t.user.conflict} icon={<Icon name="warning" />} role="alert">
      <Stack gap="xs" align="flex-start">
        <DataTable
          label={t.user.conflict}
          rows={rows}
          idOf={(name) => name}
          columns={[
            { header: t.user.field, cell: (name) => names[name] },
            { header: t.user.theirs, cell: (name) => <span className="wrap">{after[name]}</span> },
            {
              header: t.user.yours,
              cell: (name) => (
                <>
                  <span className="wrap">{typed[name] ?? '–'}</span>{' '}
                  {name in typed && (
                    <Button variant="default" onClick={() => take(name)}>
                      {t.user.takeTheirs}
                    </Button>
                  )}
                </>
              ),
            },
          ]}
        />
        <Button onClick={keep}>{t.user.keepMine}</Button>
      </Stack>
    </Alert>
  );
}
