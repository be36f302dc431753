import { Button, Group, Menu, Text } from '@mantine/core';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { EXPORT_FORMATS, type ExportFormat, type ExportRoute, type RouteInput } from '#console-api';
import { type CallInput, readFile, type ReadFile } from '../api/call';
import { useApp, useMayCall } from '../api/queries';
import { useFormats } from '../texts/format';
import { useTexts } from '../texts/texts';
import { useNotices } from './dialogs';
import { Icon } from './icon';

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
