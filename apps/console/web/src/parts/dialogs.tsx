import { Button, type ButtonProps, Group, Modal, Text, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { type NotificationData, notifications } from '@mantine/notifications';
import { useRouter } from '@tanstack/react-router';
import { createContext, type ReactNode, useContext, useEffect, useRef, useState } from 'react';
import type { ConsoleRoute, RouteReply, Undo } from '#console-api';
import type { CallInput } from '../api/call';
import { useAct, useMayCall, useUndo } from '../api/queries';
import { useTexts } from '../texts/texts';
import { onText } from './fields';
import { Form, type FormProps, type Way } from './forms';
import { Icon, Problem } from './panel';
import { visible } from './visible.rules';

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
    <Modal opened onClose={onClose} title={visible(title)} closeButtonProps={{ 'aria-label': t.acts.close }}>
      {children}
    </Modal>
  );
}

interface FormDialogProps extends Omit<FormProps, 'maw'> {
  readonly title: string;
  readonly submitText?: string;
  readonly isDisabled?: boolean;
  readonly others?: readonly Way[];
  readonly isFinal?: boolean;
  /** Default: closes the dialog of the button. */
  readonly onClose?: () => void;
}

const Close = createContext<() => void>(() => undefined);

/** A form in a dialog, which closes after its act, unless the act answers false; it stays open with the reason where the act fails. */
export function FormDialog(props: FormDialogProps): ReactNode {
  const { title, submitText, form, submit, isDisabled = false, others = [], isFinal = false, children } = props;
  const t = useTexts();
  const close = useContext(Close);
  const { onClose = close } = props;
  const closing = (act: FormProps['submit']) => async () => {
    if ((await act()) !== false) onClose();
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <Form
        form={form}
        submit={closing(submit)}
        buttons={({ isPending }, pass) => (
          <Group justify="flex-end">
            {others.map((way) => (
              <Button key={way.text} disabled={isPending} onClick={() => pass(closing(way.submit))}>
                {way.text}
              </Button>
            ))}
            <Button onClick={onClose}>{t.acts.cancel}</Button>
            <Button
              variant="filled"
              type="submit"
              color={isFinal ? 'bad' : 'link'}
              loading={isPending}
              disabled={isDisabled}
            >
              {submitText ?? t.acts.create}
            </Button>
          </Group>
        )}
      >
        {children}
      </Form>
    </Dialog>
  );
}

interface DialogButtonProps extends Omit<ButtonProps, 'children'> {
  readonly text: string;
  /** For screen readers. Default: the text. */
  readonly name?: string;
  readonly dialog: ReactNode;
}

export function DialogButton({ text, name = text, dialog, ...props }: DialogButtonProps): ReactNode {
  const [isOpen, { open: show, close }] = useDisclosure(false);
  return (
    <>
      <Button variant="filled" {...props} aria-label={name} onClick={show}>
        {text}
      </Button>
      {isOpen && <Close value={close}>{dialog}</Close>}
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
  readonly button?: string;
  /** The text that has to be typed, for what cannot be undone. */
  readonly typed?: string;
  readonly onConfirm: () => Promise<unknown>;
  readonly onClose?: () => void;
}

/** Asks before an act that has no undo. */
export function Confirm({ says, button, typed, onConfirm, ...dialog }: ConfirmProps): ReactNode {
  const t = useTexts();
  const [text, setText] = useState('');
  return (
    <FormDialog
      {...dialog}
      submitText={button ?? dialog.title}
      submit={onConfirm}
      isDisabled={typed !== undefined && folded(text) !== folded(typed)}
      isFinal={typed !== undefined}
    >
      <Text component="div">{typeof says === 'string' ? visible(says) : says}</Text>
      {typed !== undefined && (
        <TextInput label={t.acts.typeToConfirm(folded(typed))} value={text} onChange={onText(setText)} data-autofocus />
      )}
    </FormDialog>
  );
}

/** A text as it is seen and typed: names may begin with white space, hold line breaks or hidden characters. */
export function folded(text: string): string {
  return visible(text.trim().replaceAll(/\s+/g, ' '));
}

type AskButtonProps = Omit<ConfirmProps, 'onClose'> & { readonly text?: string };

type Look = Omit<AskButtonProps, 'onConfirm'> | { readonly text: string; readonly title?: never };

type ActButtonProps<R extends ConsoleRoute> = Look & {
  readonly route: R;
  readonly input: CallInput<R>;
  readonly done?: (reply: RouteReply<R>) => string;
  readonly then?: (reply: RouteReply<R>) => unknown;
  readonly leadsTo?: string;
};

/** A button that asks before its act; red where the act cannot be undone. */
export function AskButton({ text: given, ...confirm }: AskButtonProps): ReactNode {
  const text = given ?? confirm.title;
  const look = confirm.typed === undefined ? { variant: 'default' } : { variant: 'light', color: 'bad' };
  return <DialogButton text={text} {...look} dialog={<Confirm button={text} {...confirm} />} />;
}

/** A button that calls a route, for operators with its permission. With a title, a dialog asks before the call. */
export function ActButton<R extends ConsoleRoute>(props: ActButtonProps<R>): ReactNode {
  const { route, input, done, then, leadsTo, ...look } = props;
  const notices = useNotices();
  const { history } = useRouter();
  const mayCall = useMayCall(route);
  const act = useAct(route);
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    const hasActed = !act.isIdle && !act.isPending;
    if (hasActed && document.activeElement === document.body) button.current?.focus({ preventScroll: true });
  }, [act.isIdle, act.isPending]);
  const call = async () => {
    const reply = await act.mutateAsync(input);
    if (done !== undefined) notices.done(done(reply));
    await then?.(reply);
    if (leadsTo !== undefined) history.push(leadsTo);
  };
  if (!mayCall) return null;
  if (look.title !== undefined) return <AskButton {...look} onConfirm={call} />;
  return (
    <Button ref={button} loading={act.isPending} onClick={() => void call().catch(notices.failed)}>
      {look.text}
    </Button>
  );
}

interface SaveAct<R extends ConsoleRoute> {
  readonly isPending: boolean;
  readonly save: (input: CallInput<R>) => Promise<RouteReply<R>>;
}

/** A changing route, whose success is shown with Undo where its answer says how. */
export function useSave<R extends ConsoleRoute>(route: R): SaveAct<R> {
  const t = useTexts();
  const notices = useNotices();
  const { isPending, mutateAsync } = useAct(route);
  const { mutateAsync: write } = useUndo();
  const save: SaveAct<R>['save'] = async (input) => {
    const reply = await mutateAsync(input);
    const { undo } = reply as { readonly undo?: Undo | null };
    if (!undo) notices.done(t.acts.saved);
    else notices.undoable(t.acts.saved, () => write(undo));
    return reply;
  };
  return { isPending, save };
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
  const done = (message: string) => show({ message: visible(message), color: 'good' });
  const outcome = (message: string) => show({ message: visible(message), autoClose: false });
  const failed = (error: Error) =>
    show({ title: t.states.failed, message: <Problem error={error} />, color: 'bad', autoClose: false });
  const undoable = (text: string, undo: () => Promise<unknown>) => {
    const act = () => {
      notifications.hide(id);
      undo().then(() => done(t.acts.undone), failed);
    };
    const message = (
      <Group justify="space-between" wrap="nowrap">
        <span>{visible(text)}</span>
        <Button onClick={act}>{t.acts.undo}</Button>
      </Group>
    );
    const id = show({ autoClose: UNDO_MS, color: 'good', message });
  };
  return { done, outcome, undoable, failed };
}
