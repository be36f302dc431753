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
import { useFormats, useTexts } from '../texts/texts';
import { Confirm, FormDialog, useNotices, useSave } from './dialogs';
import { Icon } from './panel';
import { visible } from './visible.rules';

type ShownView = RouteReply<typeof consoleApi.listViews>['items'][number];

/** `view`: what the list shows now, with the name of the view that has the same filters. */
function useViews(page: SavedView['page']) {
  const { appId, may } = useApp();
  const { data } = useRead(consoleApi.listViews, { params: { appId } });
  const { after: _, ...shown } = useSearch({ strict: false });
  const isPersonal = useLocation({ select: ({ state }) => state.text !== undefined || state.where !== undefined });
  const views = data?.items.filter((view) => view.page === page) ?? [];
  const isShown = ({ search }: Pick<SavedView, 'search'>) => !isPersonal && hashKey([search]) === hashKey([shown]);
  const isSavable = !isPersonal && !isShown({ search: {} });
  const current = views.find(isShown);
  const deletable = current?.isOwn === true || may('settings.write') ? current : undefined;
  const isShared = views.some((each) => isShown(each) && each.isOwn && each.isShared);
  const view = { page, search: shown as SavedView['search'], name: current?.name ?? '', isShared };
  return { views, view, isPersonal, isSavable, deletable };
}

/** The filters of a list under a name: a menu of the operator's own and shared ones. What stands in no URL is not saved. */
export function SavedViews({ page }: Pick<SavedView, 'page'>): ReactNode {
  const { views: t, acts } = useTexts();
  const { appId } = useApp();
  const navigate = useNavigate();
  const { mutateAsync: remove } = useAct(consoleApi.deleteView);
  const [dialog, setDialog] = useState<ReactNode>();
  const { views, view, isPersonal, isSavable, deletable } = useViews(page);
  const onClose = () => setDialog(undefined);
  const ask = ({ id: viewId, name, isShared }: ShownView) => {
    const onConfirm = () => remove({ params: { appId, viewId } });
    const says = isShared ? t.deleteSharedSays : t.deleteSays;
    setDialog(<Confirm title={t.delete(name)} button={acts.delete} {...{ says, onConfirm, onClose }} />);
  };
  return (
    <>
      <Menu position="bottom-end">
        <Menu.Target>
          <Button rightSection={<Icon name="down" size={16} />}>{visible(view.name || t.title)}</Button>
        </Menu.Target>
        <Menu.Dropdown>
          {views.map(({ id, name, isShared, search }) => (
            <Menu.Item key={id} onClick={() => void navigate({ to: '.', search })}>
              {visible(isShared ? t.shared(name) : name)}
            </Menu.Item>
          ))}
          {views.length > 0 && <Menu.Divider />}
          <Menu.Item disabled={!isSavable} onClick={() => setDialog(<SaveView view={view} onClose={onClose} />)}>
            {isPersonal ? t.personal : t.save}
          </Menu.Item>
          {deletable && <Menu.Item onClick={() => ask(deletable)}>{visible(t.delete(deletable.name))}</Menu.Item>}
        </Menu.Dropdown>
      </Menu>
      {dialog}
    </>
  );
}

interface SaveProps {
  readonly view: SavedView;
  readonly onClose: () => void;
}

function SaveView({ view, onClose }: SaveProps): ReactNode {
  const t = useTexts();
  const { appId, may } = useApp();
  const { save } = useSave(consoleApi.saveView);
  const form = useForm({
    initialValues: { name: view.name, isShared: view.isShared },
    validate: { name: (value) => (value.trim() === '' ? t.access.nameWanted : null) },
  });
  const submit = () => save({ params: { appId }, body: { ...view, ...form.getValues() } });
  return (
    <FormDialog title={t.views.save} submitText={t.acts.save} form={form} submit={submit} onClose={onClose}>
      <TextInput label={t.applications.name} maxLength={60} data-autofocus {...form.getInputProps('name')} />
      {may('users.write') && (
        <Checkbox label={t.views.share} {...form.getInputProps('isShared', { type: 'checkbox' })} />
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
      save(await readFile(route, input, { signal: stop.signal, onBytes: setBytes }));
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
function save({ file, name }: ReadFile): void {
  const url = URL.createObjectURL(file);
  Object.assign(document.createElement('a'), { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), KEPT_MS);
}
