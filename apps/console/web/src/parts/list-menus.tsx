import { Button, Checkbox, Group, Menu, Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { hashKey } from '@tanstack/react-query';
import { useLocation, useNavigate, useSearch } from '@tanstack/react-router';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import {
  consoleApi,
  EXPORT_FORMATS,
  type ExportFormat,
  type ExportRoute,
  type RouteInput,
  type RouteReply,
  type SavedView,
} from '#console-api';
import { type CallInput, readFile, type ReadFile } from '../api/call';
import { useAct, useApp, useMayCall, useRead } from '../api/queries';
import { PERSONAL } from '../table/data-table';
import { useFormats, useTexts } from '../texts/texts';
import { Confirm, FormDialog, useNotices, useSave } from './dialogs';
import { Icon } from './panel';
import { visible } from './visible.rules';

type ShownView = RouteReply<typeof consoleApi.listViews>['items'][number];

/** `current`: the view with the filters of the list, first an own one. `opened`: the last one that was current. */
function useViews(page: SavedView['page']) {
  const { appId } = useApp();
  const { data } = useRead(consoleApi.listViews, { params: { appId } });
  const { after: _, ...shown } = useSearch({ strict: false });
  const isKept = useLocation({ select: ({ state }) => state.text !== undefined || state.where !== undefined });
  const isPersonal = isKept || [shown.q, shown.where].some((text) => text !== undefined && PERSONAL.test(text));
  const views = data?.items.filter((view) => view.page === page) ?? [];
  const same = isPersonal ? [] : views.filter((view) => hashKey([view.search]) === hashKey([shown]));
  const current = same.find(({ isOwn }) => isOwn) ?? same[0];
  const [opened, setOpened] = useState(current);
  if (current !== undefined && current.id !== opened?.id) setOpened(current);
  return { views, search: shown as SavedView['search'], isPersonal, current, opened };
}

/** The filters of a list under a name: a menu of the operator's own and shared ones. What stands in no URL is not saved. */
export function SavedViews({ page }: Pick<SavedView, 'page'>): ReactNode {
  const { views: t, acts } = useTexts();
  const { appId, may } = useApp();
  const navigate = useNavigate();
  const { outcome } = useNotices();
  const { mutateAsync: remove } = useAct(consoleApi.deleteView);
  const [dialog, setDialog] = useState<ReactNode>();
  const { views, search: shown, isPersonal, current, opened } = useViews(page);
  const onClose = () => setDialog(undefined);
  const save = () => setDialog(<SaveView page={page} search={shown} opened={opened} onClose={onClose} />);
  const ask = ({ id: viewId, name, isShared }: ShownView) => {
    const onConfirm = () => remove({ params: { appId, viewId } });
    const says = isShared ? t.deleteSharedSays : t.deleteSays;
    setDialog(<Confirm title={t.delete(name)} button={acts.delete} {...{ says, onConfirm, onClose }} />);
  };
  const deletable = current?.isOwn === true || may('settings.write') ? current : undefined;
  return (
    <>
      <Menu position="bottom-end" width={260}>
        <Menu.Target>
          <Button rightSection={<Icon name="down" size={16} />} aria-label={t.button(current?.name)} maw="14rem">
            <Text truncate>{visible(current?.name ?? t.title)}</Text>
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          <div className="choices">
            {views.map(({ id, name, isShared, search }) => (
              <Menu.Item key={id} aria-current={id === current?.id} onClick={() => void navigate({ to: '.', search })}>
                {visible(isShared ? t.shared(name) : name)}
              </Menu.Item>
            ))}
          </div>
          {views.length > 0 && <Menu.Divider />}
          <Menu.Item onClick={() => (isPersonal ? outcome(t.personal) : save())}>{t.save}</Menu.Item>
          {deletable && <Menu.Item onClick={() => ask(deletable)}>{visible(t.delete(deletable.name))}</Menu.Item>}
        </Menu.Dropdown>
      </Menu>
      {dialog}
    </>
  );
}

interface SaveProps extends Pick<SavedView, 'page' | 'search'> {
  readonly opened: ShownView | undefined;
  readonly onClose: () => void;
}

function SaveView({ opened, onClose, ...view }: SaveProps): ReactNode {
  const t = useTexts();
  const { appId, may } = useApp();
  const { save } = useSave(consoleApi.saveView);
  const form = useForm({
    initialValues: { name: opened?.name ?? '', isShared: opened?.isOwn === true && opened.isShared },
    validate: { name: (value) => (value.trim() === '' ? t.access.nameWanted : null) },
  });
  const submit = () => save({ params: { appId }, body: { ...view, ...form.getValues() } });
  const { name, saveSays, share } = t.views;
  return (
    <FormDialog title={t.views.save} submitText={t.acts.save} form={form} submit={submit} onClose={onClose}>
      <TextInput label={name} description={saveSays} maxLength={60} data-autofocus {...form.getInputProps('name')} />
      {may('users.write') && <Checkbox label={share} {...form.getInputProps('isShared', { type: 'checkbox' })} />}
    </FormDialog>
  );
}

interface ExportMenuProps<R extends ExportRoute> {
  /** Names the button, beside which others can stand. Default: export. */
  readonly text?: string;
  readonly route: R;
  readonly query: Omit<RouteInput<R>['query'], 'format'>;
}

/** For those who may: saves a list as a file; while it arrives its size and a button that stops it. Leaving the page stops it as well. */
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
