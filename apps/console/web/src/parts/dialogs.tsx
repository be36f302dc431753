import { Button, Group, Modal, Stack, Text, TextInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { type ReactNode, type SubmitEvent, useEffect, useState } from 'react';
import { useTexts } from '../texts/texts';
import { Failure, useProblem } from './panel';

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

/** The element that had the focus last. A button that is disabled while it acts has lost the focus. */
let focused: HTMLElement | undefined;
document.addEventListener('focusin', ({ target }) => {
  if (target instanceof HTMLElement) focused = lastingOf(target);
});

/** @returns the button of the menu for an item, which is gone once the menu is closed */
function lastingOf(element: HTMLElement): HTMLElement {
  const button = element.closest('[role=menu]')?.getAttribute('aria-labelledby');
  return (typeof button === 'string' ? document.getElementById(button) : null) ?? element;
}

type Openers = readonly HTMLElement[];
/** Of the open dialogs. A dialog that opens over another, or follows it, adds one to those of the other. */
const open: Openers[] = [];

/** A dialog that is open while it is mounted. The focus then returns to the last of its openers that is still there. */
export function Dialog({ title, onClose, children }: DialogProps): ReactNode {
  const t = useTexts();
  const [openers] = useState<Openers>(() => [...(open.at(-1) ?? []), ...(focused === undefined ? [] : [focused])]);
  useEffect(() => {
    open.push(openers);
    return () => {
      open.splice(open.indexOf(openers), 1);
      if (document.activeElement !== document.body) return;
      openers.findLast(({ isConnected }) => isConnected)?.focus({ preventScroll: true });
    };
  }, [openers]);
  return (
    <Modal opened onClose={onClose} title={title} closeButtonProps={{ 'aria-label': t.acts.close }}>
      {children}
    </Modal>
  );
}

interface ConfirmProps {
  readonly title: string;
  readonly says: ReactNode;
  readonly button: string;
  /** The text that has to be typed, for what cannot be undone. */
  readonly typed?: string;
  readonly onConfirm: () => Promise<unknown>;
  readonly onClose: () => void;
}

/** Asks before an act that has no undo; stays open with the reason where the act fails. */
export function Confirm({ title, says, button, typed, onConfirm, onClose }: ConfirmProps): ReactNode {
  const t = useTexts();
  const [text, setText] = useState('');
  const [error, setError] = useState<Error>();
  const [isBusy, setBusy] = useState(false);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    if (typed !== undefined && text.trim() !== typed) return;
    setBusy(true);
    try {
      await onConfirm();
      onClose();
    } catch (failure) {
      setError(failure as Error);
      setBusy(false);
    }
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form onSubmit={(event) => void submit(event)}>
        <Stack gap="md">
          <Text size="sm" component="div">
            {says}
          </Text>
          {typed !== undefined && (
            <TextInput
              label={t.acts.typeToConfirm(typed)}
              value={text}
              onChange={(event) => {
                setText(event.currentTarget.value);
              }}
              autoComplete="off"
              data-autofocus
            />
          )}
          {error !== undefined && <Failure error={error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              {t.acts.cancel}
            </Button>
            <Button
              type="submit"
              color={typed === undefined ? 'link' : 'bad'}
              loading={isBusy}
              disabled={typed !== undefined && text.trim() !== typed}
            >
              {button}
            </Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  );
}

interface FormDialogProps {
  readonly title: string;
  /** The text of its button. Default: create. */
  readonly submitText?: string;
  readonly onSubmit: (event: SubmitEvent<HTMLFormElement>) => void;
  readonly isPending: boolean;
  readonly error: Error | null;
  readonly onClose: () => void;
  /** The fields. */
  readonly children: ReactNode;
}

/** A form in a dialog. */
export function FormDialog({
  title,
  submitText,
  onSubmit,
  isPending,
  error,
  onClose,
  children,
}: FormDialogProps): ReactNode {
  const t = useTexts();
  return (
    <Dialog title={title} onClose={onClose}>
      <form onSubmit={onSubmit} noValidate autoComplete="off">
        <Stack gap="sm">
          {children}
          {error !== null && <Failure error={error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              {t.acts.cancel}
            </Button>
            <Button type="submit" loading={isPending}>
              {submitText ?? t.acts.create}
            </Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  );
}

const UNDO_MS = 10_000;

/** @returns notices: of a success, of one with Undo for ten seconds, of a failure */
export function useNotices(): {
  readonly done: (text: string) => void;
  readonly undoable: (text: string, undo: () => Promise<unknown>) => void;
  readonly failed: (error: Error) => void;
} {
  const t = useTexts();
  const problem = useProblem();
  const done = (message: string) => {
    notifications.show({ message, color: 'good', closeButtonProps: { 'aria-label': t.acts.close } });
  };
  const failed = (error: Error) => {
    notifications.show({
      title: t.states.failed,
      message: problem(error),
      color: 'bad',
      autoClose: false,
      closeButtonProps: { 'aria-label': t.acts.close },
    });
  };
  const undoable = (text: string, undo: () => Promise<unknown>) => {
    const id = notifications.show({
      autoClose: UNDO_MS,
      color: 'good',
      closeButtonProps: { 'aria-label': t.acts.close },
      message: (
        <Group justify="space-between" wrap="nowrap">
          <span>{text}</span>
          <Button
            variant="default"
            onClick={() => {
              notifications.hide(id);
              undo().then(() => {
                done(t.acts.undone);
              }, failed);
            }}
          >
            {t.acts.undo}
          </Button>
        </Group>
      ),
    });
  };
  return { done, undoable, failed };
}
