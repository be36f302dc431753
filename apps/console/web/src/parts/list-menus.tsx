import { Button, Checkbox, Group, Menu, Text, TextInput } from '@mantine/core';
import { hashKey } from '@tanstack/react-query';
import { useLocation, useNavigate, useSearch } from '@tanstack/react-router';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import {
  consoleApi,
  EXPORT_FORMATS,
  type ExportFormat,
  type ExportRoute,
  isPersonal,
  type RouteInput,
  type RouteReply,
  type SavedView,
} from '#console-api';
import { type CallInput, readFile, type ReadFile } from '../api/call';
import { useAct, useApp, useMayCall, useRead } from '../api/queries';
import { useFormats, useTexts } from '../texts/texts';
import { Confirm, FormDialog, useNotices, useSave } from './dialogs';
import { onText } from './fields';
import { Icon } from './panel';
import { visible } from './visible.rules';

type ShownView = RouteReply<typeof consoleApi.listViews>['items'][number];

/** `same`: the views with the filters of the list, own ones first. `opened`: the last of them. */
function useViews(page: SavedView['page']) {
  const { appId } = useApp();
  const { data } = useRead(consoleApi.listViews, { params: { appId } });
  const { after: _, ...shown } = useSearch({ strict: false });
  const isKept = useLocation({ select: ({ state }) => state.text !== undefined || state.where !== undefined });
  const isSavable = !isKept && !isPersonal(shown);
  const views = data?.items.filter((view) => view.page === page) ?? [];
  const same = isSavable ? views.filter(({ search }) => hashKey([search]) === hashKey([shown])) : [];
  const [openedId, setOpened] = useState<string>();
  const current = same[0]?.id;
  if (current !== undefined && current !== openedId) setOpened(current);
  const opened = views.find(({ id }) => id === openedId);
  return { views, search: shown as SavedView['search'], isSavable, same, opened };
}

/** The filters of a list under a name: a menu of the operator's own and shared ones. What stands in no URL is not saved. */
export function SavedViews({ page }: Pick<SavedView, 'page'>): ReactNode {
  const { views: t, acts } = useTexts();
  const { appId, may } = useApp();
  const navigate = useNavigate();
  const { outcome } = useNotices();
  const { mutateAsync: remove } = useAct(consoleApi.deleteView);
  const [dialog, setDialog] = useState<ReactNode>();
  const [chosenId, setChosen] = useState<string>();
  const { views, search: shown, isSavable, same, opened } = useViews(page);
  const [current] = same;
  const label = visible(t.button(current?.name));
  const onClose = () => setDialog(undefined);
  const own = views.filter(({ isOwn }) => isOwn);
  const save = () => setDialog(<SaveView page={page} search={shown} {...{ opened, own, onClose }} />);
  const ask = ({ id: viewId, name, isShared }: ShownView) => {
    const onConfirm = () => remove({ params: { appId, viewId } });
    const says = isShared ? t.deleteSharedSays : t.deleteSays;
    setDialog(<Confirm title={t.delete(name)} button={acts.delete} {...{ says, onConfirm, onClose }} />);
  };
  // The page drops filters that it does not know, so the list never equals a view of another version.
  const isDeletable = (view: ShownView) =>
    (same.includes(view) || view.id === chosenId) && (view.isOwn || may('settings.write'));
  const open = ({ id, search }: ShownView) => {
    setChosen(id);
    void navigate({ to: '.', search });
  };
  return (
    <>
      <Menu position="bottom-end" width={260}>
        <Menu.Target>
          <Button rightSection={<Icon name="down" size={16} />} aria-label={label} maw="14rem">
            <Text truncate>{visible(current?.name ?? t.title)}</Text>
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          <div className="choices">
            {views.map((view) => (
              <Menu.Item key={view.id} aria-current={view === current} onClick={() => open(view)}>
                {visible(view.isShared ? t.shared(view.name) : view.name)}
              </Menu.Item>
            ))}
          </div>
          {views.length > 0 && <Menu.Divider />}
          <Menu.Item onClick={() => (isSavable ? save() : outcome(t.personal))}>{t.save}</Menu.Item>
          {views.filter(isDeletable).map((view) => (
            <Menu.Item key={view.id} onClick={() => ask(view)}>
              {visible(t.delete(view.name))}
            </Menu.Item>
          ))}
        </Menu.Dropdown>
      </Menu>
      {dialog}
    </>
  );
}

interface SaveProps extends Pick<SavedView, 'page' | 'search'> {
  readonly opened: ShownView | undefined;
  readonly own: readonly ShownView[];
  readonly onClose: () => void;
}

function SaveView({ opened, own, onClose, ...view }: SaveProps): ReactNode {
  const t = useTexts();
  const { appId, may } = useApp();
  const { save } = useSave(consoleApi.saveView);
  const [typed, setName] = useState(opened?.name ?? '');
  const [chosen, setShared] = useState<boolean>();
  const name = typed.trim();
  const replaced = own.find((each) => each.name === name);
  const isShared = may('users.write') && (chosen ?? replaced?.isShared ?? false);
  const submit = () => save({ params: { appId }, body: { ...view, name, isShared } });
  const { name: label, replaces, save: title, share } = t.views;
  const field = { label, description: replaced && replaces, value: typed, onChange: onText(setName) };
  return (
    <FormDialog title={title} submitText={t.acts.save} submit={submit} isDisabled={name === ''} onClose={onClose}>
      <TextInput maxLength={60} data-autofocus {...field} />
      {may('users.write') && (
        <Checkbox label={share} checked={isShared} onChange={(event) => setShared(event.currentTarget.checked)} />
      )}
    </FormDialog>
  );
}

interface ExportMenuProps<R extends ExportRoute> {
  /** Names the button, beside which others can stand. Default: export. */
  readonly text?: string;
  readonly route: R;
  readonly query: Omit<RouteInput<R>['query'], 'format'>;
}

/** Saves a list as a file, for operators with the permission. A button that shows the size, and leaving the page, stop it. */
export function ExportMenu<R extends ExportRoute>({ text, route, query }: ExportMenuProps<R>): ReactNode {
  const t = useTexts();
  const { bytes: sizeOf } = useFormats();
  const { appId } = useApp();
  const mayExport = useMayCall(route);
  const notices = useNotices();
  const [bytes, setBytes] = useState<number>();
  const running = useRef<AbortController>(undefined);
  useEffect(() => () => running.current?.abort(), []);
  const begin = async (format: ExportFormat) => {
    const stop = new AbortController();
    running.current = stop;
    setBytes(0);
    try {
      const input = { params: { appId }, query: { ...query, format } } as unknown as CallInput<R>;
      saveFile(await readFile(route, input, { signal: stop.signal, onBytes: setBytes }));
      notices.done(t.exports.saved);
    } catch (error) {
      if (!stop.signal.aborted) notices.failed(error as Error);
    } finally {
      setBytes(undefined);
    }
  };
  if (!mayExport) return null;
  if (bytes !== undefined)
    return (
      <Group gap="xs">
        <Text role="status" className="figures">
          {t.exports.received(sizeOf(bytes))}
        </Text>
        <Button onClick={() => running.current?.abort()}>{t.exports.stop}</Button>
      </Group>
    );
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <Button rightSection={<Icon name="down" size={16} />}>{text ?? t.exports.begin}</Button>
      </Menu.Target>
      <Menu.Dropdown>
        {EXPORT_FORMATS.map((format) => (
          <Menu.Item key={format} onClick={() => void begin(format)}>
            {t.exports.formats[format]}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}

const KEPT_MS = 60_000;

/** The browser copies the file; the URL is needed until it has begun to. */
function saveFile({ file, name }: ReadFile): void {
  const url = URL.createObjectURL(file);
  Object.assign(document.createElement('a'), { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), KEPT_MS);
}
