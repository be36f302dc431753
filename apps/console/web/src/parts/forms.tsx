import { Alert, Button, Group, Stack } from '@mantine/core';
import { getHotkeyHandler } from '@mantine/hooks';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import {
  type FocusEvent,
  type KeyboardEvent,
  type ReactNode,
  type SubmitEvent,
  useEffect,
  useId,
  useRef,
  useState,
} from 'react';
import { useTexts } from '../texts/texts';
import { asksForCode, NoJson } from './fields';
import { Failure, Icon } from './panel';

type Act = () => Promise<unknown>;

/** A form marks itself while it holds what is not saved, also in a tab that is not shown. */
export const isUnsaved = (): boolean => document.querySelector('[data-unsaved]:not([data-unsaved=false])') !== null;
export const forgetUnsaved = (): void =>
  document.querySelectorAll('[data-unsaved]').forEach((form) => form.removeAttribute('data-unsaved'));

export interface Way<Reply = unknown> {
  readonly text: string;
  readonly submit: () => Promise<Reply>;
}

export interface FormProps {
  /** Checks the fields before the act. Default: the browser does, by their attributes. */
  readonly form?: { readonly validate: () => { readonly hasErrors: boolean } } | undefined;
  readonly submit: Act;
  readonly maw?: string | undefined;
  readonly children: ReactNode;
}

type Buttons = (act: { readonly isPending: boolean }, pass: (act: Act) => void) => ReactNode;

interface FormWithButtons extends FormProps {
  readonly button?: string;
  readonly buttons?: Buttons;
  /** Nothing is typed: the failure of an earlier act goes, and the last field takes the focus of a button that has gone. */
  readonly isIdle?: boolean;
}

/** The element is outside of the form where the event is of a dialog that the form has opened: React passes it on. */
const isWithin = (element: Element, target: EventTarget) => target instanceof Node && element.contains(target);

/**
 * A form shows the failure of its act above its buttons. A refusal that asks for a code is not shown: the form gets a field for the code.
 * Ctrl S saves an edit.
 */
export function Form(props: FormWithButtons): ReactNode {
  const { form, submit, button, buttons, isIdle = false, maw = '100%', children } = props;
  const queries = useQueryClient();
  const mutationKey = [useId()];
  const act = useMutation({ mutationKey, mutationFn: (chosen: Act) => chosen() });
  const { error, reset } = act;
  const field = useRef<HTMLElement>(null);
  useEffect(() => {
    if (!isIdle) return;
    if (error !== null) reset();
    if (document.activeElement === document.body) field.current?.focus({ preventScroll: true });
  }, [isIdle, error, reset]);
  const pass = (chosen: Act) => {
    // A key that is held submits again before the page has shown the first act.
    if (queries.isMutating({ mutationKey }) === 0) act.mutate(chosen);
  };
  const send = (event: SubmitEvent<HTMLFormElement>) => {
    if (!isWithin(event.currentTarget, event.target)) return;
    event.preventDefault();
    const isValid = form === undefined ? event.currentTarget.reportValidity() : !form.validate().hasErrors;
    if (isValid) pass(submit);
  };
  const saveTyped = (event: KeyboardEvent<HTMLFormElement>) => {
    const { currentTarget, target } = event;
    if (!isWithin(currentTarget, target)) return;
    const save = () => currentTarget.querySelector<HTMLButtonElement>('[data-unsaved=true] [type=submit]')?.click();
    getHotkeyHandler([['mod+S', save]])(event);
  };
  const noteField = ({ currentTarget, target }: FocusEvent<HTMLFormElement>) => {
    if (isWithin(currentTarget, target) && target.matches('input, textarea')) field.current = target;
  };
  return (
    <form onSubmit={send} onKeyDown={saveTyped} onFocus={noteField} noValidate autoComplete="off">
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
  /** The object at the first edit. A newer object replaces it while the edited part is the same in both. */
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
 * Unsaved input for a stored object. A save on condition of `base` overwrites no value that the operator has not seen.
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
  /** The stored value, shown if another operator has changed it since the edit began. */
  readonly theirs?: ReactNode;
  readonly acts?: ReactNode;
}

/** The fields of an edit, and once something is typed the buttons that save and discard it. */
export function EditForm<Stored, Typed>(props: EditFormProps<Stored, Typed>): ReactNode {
  const { edit, save, theirs, acts, maw, children } = props;
  const { user: t, acts: words } = useTexts();
  const isTyped = edit.typed !== undefined;
  const hasButtons = isTyped || Boolean(acts);
  return (
    <Form
      maw={maw}
      isIdle={!isTyped}
      submit={() => edit.store(save, edit.base)}
      buttons={({ isPending }, pass) => {
        const isConflict = theirs !== undefined && !edit.isCurrent && !isPending;
        return (
          <>
            {isConflict && (
              <Alert color="warning" title={t.conflict} icon={<Icon name="warning" />} role="alert">
                {theirs}
              </Alert>
            )}
            {hasButtons && (
              <Group gap="xs" data-unsaved={isTyped}>
                {isTyped && !isConflict && (
                  <Button variant="filled" type="submit" loading={isPending}>
                    {words.save}
                  </Button>
                )}
                {isConflict && (
                  <Button variant="filled" onClick={() => pass(() => edit.store(save, edit.stored))}>
                    {t.keepMine}
                  </Button>
                )}
                {isTyped && <Button onClick={edit.discard}>{isConflict ? t.takeTheirs : words.discard}</Button>}
                {acts}
              </Group>
            )}
          </>
        );
      }}
    >
      {children}
    </Form>
  );
}
