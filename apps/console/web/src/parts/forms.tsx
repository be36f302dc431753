import { Alert, Button, Group, Stack } from '@mantine/core';
import { getHotkeyHandler } from '@mantine/hooks';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, type SubmitEvent, useId, useState } from 'react';
import { useTexts } from '../texts/texts';
import { asksForCode, NoJson } from './fields';
import { Icon } from './icon';
import { Failure } from './panel';

type Act = () => Promise<unknown>;

/** A way beside the fields of a form, as a button. */
export interface Way<Reply = unknown> {
  readonly text: string;
  readonly submit: () => Promise<Reply>;
}

export interface FormProps {
  /** Checks the fields before the act. Default: the browser does, by their attributes. */
  readonly form?: { readonly validate: () => { readonly hasErrors: boolean } } | undefined;
  readonly submit: Act;
  readonly maw?: string;
  readonly children: ReactNode;
}

type Buttons = (
  act: { readonly isPending: boolean; readonly reset: () => void },
  pass: (act: Act) => void,
) => ReactNode;

interface FormWithButtons extends FormProps {
  /** The text of its only button. */
  readonly button?: string;
  /** Default: that button. */
  readonly buttons?: Buttons;
}

/**
 * A form shows the failure of its act above its buttons. A request for a code is none: the form then has a field for it. In a field of an
 * edit Ctrl S saves.
 */
export function Form({ form, submit, button, buttons, maw = '100%', children }: FormWithButtons): ReactNode {
  const queries = useQueryClient();
  const mutationKey = [useId()];
  const act = useMutation({ mutationKey, mutationFn: (chosen: Act) => chosen() });
  const { error } = act;
  const pass = (chosen: Act) => {
    // A key that is held submits again before the page has shown the first act.
    if (queries.isMutating({ mutationKey }) === 0) act.mutate(chosen);
  };
  const send = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    const isValid = form === undefined ? event.currentTarget.reportValidity() : !form.validate().hasErrors;
    if (isValid) pass(submit);
  };
  const saveTyped = ({ currentTarget }: { readonly currentTarget: EventTarget | null }) => {
    if (currentTarget instanceof Element)
      currentTarget.querySelector<HTMLButtonElement>('[data-unsaved] [type=submit]')?.click();
  };
  return (
    <form onSubmit={send} onKeyDown={getHotkeyHandler([['mod+S', saveTyped]])} noValidate autoComplete="off">
      <Stack gap="sm" maw={maw}>
        {children}
        {error instanceof SyntaxError && <NoJson problem={error.message} />}
        {!(error instanceof SyntaxError) && <Failure error={asksForCode(error) ? null : error} />}
        {buttons?.(act, pass) ?? (
          <Button type="submit" loading={act.isPending} style={{ alignSelf: 'flex-start' }}>
            {button}
          </Button>
        )}
      </Stack>
    </form>
  );
}

interface Code {
  readonly isNeeded: boolean;
  /** Passes on the answer to a request, and notes whether it failed for want of a code. */
  readonly ask: <Reply>(sent: Promise<Reply>) => Promise<Reply>;
}

/** The code of a second factor. */
export function useCode(): Code {
  const [isNeeded, setNeeded] = useState(false);
  const ask = async <Reply,>(sent: Promise<Reply>) => {
    try {
      const reply = await sent;
      setNeeded(false);
      return reply;
    } catch (error) {
      if (asksForCode(error as Error)) setNeeded(true);
      throw error;
    }
  };
  return { isNeeded, ask };
}

interface Edit<Stored, Typed> {
  readonly typed: Typed | undefined;
  readonly stored: Stored;
  /** The object of the first edit. A newer one replaces it only where the edit concerns the same version of both. */
  readonly base: Stored;
  readonly isCurrent: boolean;
  readonly type: (typed: Typed) => void;
  readonly discard: () => void;
  /** Saves the typed value. What is typed meanwhile stays, over the saved object. */
  readonly store: (save: Save<Stored, Typed>, on: Stored) => Promise<void>;
}

/** @param on the save fails where another version is stored @returns the saved object */
type Save<Stored, Typed> = (typed: Typed, on: Stored) => Promise<Stored>;

/**
 * What is typed over a stored object. A save on condition of `base` overwrites nothing that the operator has not seen.
 *
 * @param versionOf the part of the object that the edit concerns
 */
export function useEdit<Stored, Typed>(stored: Stored, versionOf: (stored: Stored) => unknown): Edit<Stored, Typed> {
  const [edit, setEdit] = useState<{ readonly typed: Typed; readonly base: Stored }>();
  const isCurrent = edit === undefined || JSON.stringify(versionOf(edit.base)) === JSON.stringify(versionOf(stored));
  const base = isCurrent ? stored : edit.base;
  const type = (typed: Typed) => setEdit({ typed, base });
  const discard = () => setEdit(undefined);
  const store = async (save: Save<Stored, Typed>, on: Stored) => {
    if (edit === undefined) return;
    const saved = await save(edit.typed, on);
    setEdit((now) => now && (now.typed === edit.typed ? undefined : { ...now, base: saved }));
  };
  return { typed: edit?.typed, stored, base, isCurrent, type, store, discard };
}

interface EditFormProps<Stored, Typed> extends Omit<FormProps, 'submit' | 'form'> {
  readonly edit: Edit<Stored, Typed>;
  readonly save: Save<Stored, Typed>;
  /** What is stored now, shown where another operator has changed it since the edit began. */
  readonly theirs?: ReactNode;
  readonly acts?: ReactNode;
}

/** The fields of an edit, and once something is typed the buttons that save and discard it. */
export function EditForm<Stored, Typed>(props: EditFormProps<Stored, Typed>): ReactNode {
  const { edit, save, theirs, acts, maw = '100%', children } = props;
  const { user: t, acts: words } = useTexts();
  return (
    <Form
      maw={maw}
      submit={() => edit.store(save, edit.base)}
      buttons={({ isPending, reset }, pass) => {
        const isConflict = theirs !== undefined && !edit.isCurrent && !isPending;
        const discard = () => {
          edit.discard();
          reset();
        };
        return (
          <>
            {isConflict && (
              <Alert color="warning" title={t.conflict} icon={<Icon name="warning" />} role="alert">
                {theirs}
              </Alert>
            )}
            <Group gap="xs" data-unsaved={edit.typed !== undefined}>
              {edit.typed !== undefined && !isConflict && (
                <Button variant="filled" type="submit" loading={isPending}>
                  {words.save}
                </Button>
              )}
              {isConflict && (
                <Button variant="filled" onClick={() => pass(() => edit.store(save, edit.stored))}>
                  {t.keepMine}
                </Button>
              )}
              {edit.typed !== undefined && (
                <Button onClick={discard}>{isConflict ? t.takeTheirs : words.discard}</Button>
              )}
              {acts}
            </Group>
          </>
        );
      }}
    >
      {children}
    </Form>
  );
}
