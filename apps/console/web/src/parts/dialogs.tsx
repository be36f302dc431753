import { Button, type ButtonProps, Group, Modal, Stack, Text, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { type NotificationData, notifications } from '@mantine/notifications';
import { useMutation } from '@tanstack/react-query';
import { type ReactNode, type SubmitEvent, useEffect, useState } from 'react';
import type { ConsoleRoute, RouteReply } from '#console-api';
import type { CallInput } from '../api/call';
import { useAct } from '../api/queries';
import { useTexts } from '../texts/texts';
import { onText } from './fields';
import { Icon } from './icon';
import { Failure, Problem } from './panel';

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

interface FormDialogProps {
  readonly title: string;
  /** The text of its button. Default: create. */
  readonly submitText?: string;
  readonly onSubmit: (event: SubmitEvent<HTMLFormElement>) => void;
  /** Called when the form is submitted. */
  readonly act: { readonly isPending: boolean; readonly error: Error | null };
  readonly isDisabled?: boolean;
  /** Other ways, as buttons. */
  readonly others?: ReactNode;
  /** Without it only the other ways are open. Default: true. */
  readonly hasButton?: boolean;
  /** Its act cannot be undone. */
  readonly isFinal?: boolean;
  readonly onClose: () => void;
  /** The fields. */
  readonly children: ReactNode;
}

/** A form in a dialog; stays open with the reason where its act fails. */
export function FormDialog(props: FormDialogProps): ReactNode {
  const { title, submitText, onSubmit, act, isDisabled = false, others, isFinal = false, onClose, children } = props;
  const { hasButton = true } = props;
  const t = useTexts();
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          onSubmit(event);
        }}
        noValidate
        autoComplete="off"
      >
        <Stack gap="sm">
          {children}
          <Failure error={act.error} />
          <Group justify="flex-end">
            {others}
            <Button variant="default" onClick={onClose}>
              {t.acts.cancel}
            </Button>
            {hasButton && (
              <Button type="submit" color={isFinal ? 'bad' : 'link'} loading={act.isPending} disabled={isDisabled}>
                {submitText ?? t.acts.create}
              </Button>
            )}
          </Group>
        </Stack>
      </form>
    </Dialog>
  );
}

interface DialogButtonProps extends Omit<ButtonProps, 'children'> {
  readonly text: string;
  /** For screen readers. Default: the text. */
  readonly name?: string;
  /** The dialog. */
  readonly children: (close: () => void) => ReactNode;
}

/** A button that opens a dialog. */
export function DialogButton({ text, name = text, children, ...props }: DialogButtonProps): ReactNode {
  const [isOpen, { open: show, close }] = useDisclosure(false);
  return (
    <>
      <Button {...props} aria-label={name} onClick={show}>
        {text}
      </Button>
      {isOpen && children(close)}
    </>
  );
}

/** A button of a list that opens the form for a new object. */
export function AddButton(props: DialogButtonProps): ReactNode {
  return <DialogButton leftSection={<Icon name="add" size={16} />} {...props} />;
}

interface ConfirmProps {
  readonly title: string;
  readonly says: ReactNode;
  /** The text of the button that acts. Default: the title. */
  readonly button?: string;
  /** The text that has to be typed, for what cannot be undone. */
  readonly typed?: string;
  readonly onConfirm: () => Promise<unknown>;
  readonly onClose: () => void;
}

/** Asks before an act that has no undo. */
export function Confirm({ title, says, button = title, typed, onConfirm, onClose }: ConfirmProps): ReactNode {
  const t = useTexts();
  const [text, setText] = useState('');
  const act = useMutation({ mutationFn: onConfirm, onSuccess: onClose });
  const isDisabled = typed !== undefined && folded(text) !== folded(typed);
  return (
    <FormDialog
      title={title}
      submitText={button}
      onSubmit={() => {
        if (!isDisabled) act.mutate();
      }}
      act={act}
      isDisabled={isDisabled}
      isFinal={typed !== undefined}
      onClose={onClose}
    >
      <Text size="sm" component="div">
        {says}
      </Text>
      {typed !== undefined && (
        <TextInput label={t.acts.typeToConfirm(folded(typed))} value={text} onChange={onText(setText)} data-autofocus />
      )}
    </FormDialog>
  );
}

/** White space as it is seen and typed: names may begin with it, or hold line breaks. */
export function folded(text: string): string {
  return text.trim().replaceAll(/\s+/g, ' ');
}

interface AskButtonProps extends Omit<ConfirmProps, 'onClose'> {
  /** Default: the title of the dialog. */
  readonly text?: string;
}

interface ActButtonProps<R extends ConsoleRoute> extends Omit<AskButtonProps, 'onConfirm'> {
  readonly route: R;
  readonly input: CallInput<R>;
  /** The notice of its success. */
  readonly done?: (reply: RouteReply<R>) => string;
  /** Called after the act has succeeded. */
  readonly then?: () => unknown;
}

/** A button that asks before its act; red where the act cannot be undone. */
export function AskButton({ text: given, ...confirm }: AskButtonProps): ReactNode {
  const text = given ?? confirm.title;
  const look = confirm.typed === undefined ? { variant: 'default' } : { variant: 'light', color: 'bad' };
  return (
    <DialogButton text={text} {...look}>
      {(close) => <Confirm button={text} {...confirm} onClose={close} />}
    </DialogButton>
  );
}

/** A button that asks, and then calls a route. */
export function ActButton<R extends ConsoleRoute>(props: ActButtonProps<R>): ReactNode {
  const { route, input, done, then, ...question } = props;
  const notices = useNotices();
  const act = useAct(route);
  const call = async () => {
    const reply = await act.mutateAsync(input);
    if (done !== undefined) notices.done(done(reply));
    await then?.();
  };
  return <AskButton {...question} onConfirm={call} />;
}

const UNDO_MS = 10_000;

/** @returns notices: of a success, of an outcome to be read, of a success with Undo for ten seconds, of a failure */
export function useNotices(): {
  readonly done: (text: string) => void;
  readonly outcome: (text: string) => void;
  readonly undoable: (text: string, undo: () => Promise<unknown>) => void;
  readonly failed: (error: Error) => void;
} {
  const t = useTexts();
  const show = (notice: Omit<NotificationData, 'closeButtonProps'>) =>
    notifications.show({ ...notice, closeButtonProps: { 'aria-label': t.acts.close } });
  const done = (message: string) => show({ message, color: 'good' });
  const outcome = (message: string) => show({ message, autoClose: false });
  const failed = (error: Error) =>
    show({ title: t.states.failed, message: <Problem error={error} />, color: 'bad', autoClose: false });
  const undoable = (text: string, undo: () => Promise<unknown>) => {
    const act = () => {
      notifications.hide(id);
      undo().then(() => done(t.acts.undone), failed);
    };
    const message = (
      <Group justify="space-between" wrap="nowrap">
        <span>{text}</span>
        <Button variant="default" onClick={act}>
          {t.acts.undo}
        </Button>
      </Group>
    );
    const id = show({ autoClose: UNDO_MS, color: 'good', message });
  };
  return { done, outcome, undoable, failed };
}
