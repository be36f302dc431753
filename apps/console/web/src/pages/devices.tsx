import { Badge, Checkbox, Group, TextInput } from '@mantine/core';
import { useParams, useSearch } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { consoleApi, type Device } from '#console-api';
import type { CallInput } from '../api/call';
import { useAct, useApp, useRead } from '../api/queries';
import { ActButton, useNotices } from '../parts/dialogs';
import { onText, UrlText, useUrlFilters } from '../parts/fields';
import { EditForm, useEdit } from '../parts/forms';
import { ExportMenu, SavedViews } from '../parts/list-menus';
import { Answer, Bdi, Copyable, Empty, JsonBlock, Page, Panel } from '../parts/panel';
import { listOf } from '../parts/typed.rules';
import { type Column, List, RowLink } from '../table/data-table';
import { useFormats, useTexts, When } from '../texts/texts';
import { History } from './audit';
import { TestDeviceButton, useIsTestDevice } from './test-devices';

const FROM = '/frame/apps/$appId/devices';
const EVERY_MS = 5_000;
/** A device appears within five seconds of its connection. */
const CONNECTED_EVERY_MS = 2_000;

export function DevicesPage(): ReactNode {
  const t = useTexts();
  const search = useSearch({ from: FROM });
  const isConnected = search.connected === true;
  const { change, filter } = useUrlFilters(search);
  const textFilter = (name: 'type' | 'channel' | 'user', label: string) => (
    <UrlText label={label} disabled={isConnected} {...filter(name)} />
  );
  const { after } = search;
  const filters = { deviceType: search.type, channel: search.channel, userId: search.user };
  return (
    <Page
      title={t.pages.devices}
      acts={
        <>
          <SavedViews page="devices" />
          {!isConnected && <ExportMenu route={consoleApi.exportDevices} query={filters} />}
        </>
      }
    >
      <Panel>
        <Group gap="md" align="flex-end">
          {textFilter('type', t.devices.type)}
          {textFilter('channel', t.devices.channel)}
          {textFilter('user', t.devices.user)}
          <Checkbox
            label={t.devices.onlyConnected}
            checked={isConnected}
            pb={6}
            onChange={(event) => change({ connected: event.currentTarget.checked ? true : undefined })}
          />
        </Group>
        <DeviceList query={{ after, ...filters }} isConnected={isConnected} hasPager />
      </Panel>
    </Page>
  );
}

interface DeviceListProps {
  readonly query: NonNullable<CallInput<typeof consoleApi.listDevices>['query']>;
  /** Only devices that are connected now; no filter applies to them. */
  readonly isConnected?: boolean;
  readonly hasPager?: boolean;
}

export function DeviceList({ query, isConnected = false, hasPager = false }: DeviceListProps): ReactNode {
  const t = useTexts();
  const params = { appId: useApp().appId };
  const all = useRead(consoleApi.listDevices, { params, query }, { everyMs: EVERY_MS, enabled: !isConnected });
  const connected = useRead(
    consoleApi.listConnectedDevices,
    { params, query: { after: query.after } },
    { everyMs: CONNECTED_EVERY_MS, enabled: isConnected },
  );
  const none = isConnected ? { title: t.devices.noneConnected } : { title: t.devices.none, says: t.devices.noneSays };
  return (
    <List
      label={isConnected ? t.devices.onlyConnected : t.pages.devices}
      of={isConnected ? connected : all}
      lines={8}
      idOf={({ objectId }) => objectId}
      columns={useDeviceColumns()}
      empty={<Empty {...none} />}
      {...(hasPager ? { page: query } : {})}
    />
  );
}

function useDeviceColumns(): readonly Column<Device>[] {
  const t = useTexts();
  const { appId } = useApp();
  const isTest = useIsTestDevice();
  const { number } = useFormats();
  return [
    {
      header: t.devices.device,
      cell: ({ objectId }) => (
        <Group gap="xs">
          <RowLink to={`/apps/${appId}/devices/${objectId}`}>{objectId}</RowLink>
          {isTest?.(objectId) === true && <Badge>{t.devices.isTest}</Badge>}
        </Group>
      ),
    },
    { header: t.devices.type, cell: ({ deviceType }) => deviceType },
    { header: t.users.state, cell: (device) => <Connection device={device} /> },
    {
      header: t.devices.channels,
      from: 'md',
      cell: ({ channels }) => (channels.length === 0 ? '–' : <Bdi>{channels.join(', ')}</Bdi>),
    },
    {
      header: t.devices.waiting,
      from: 'sm',
      isNumber: true,
      cell: ({ waiting }) => (waiting === null ? '–' : number(waiting)),
    },
    { header: t.devices.updatedAt, from: 'sm', cell: ({ updatedAt }) => <When at={updatedAt} /> },
  ];
}

function Connection({ device }: { readonly device: Device }): ReactNode {
  const t = useTexts();
  if (!device.isValid) return <Badge color="warning">{t.devices.invalid}</Badge>;
  if (device.isConnected === null) return '–';
  return (
    <Badge color={device.isConnected ? 'good' : 'gray'}>
      {device.isConnected ? t.devices.connected : t.devices.away}
    </Badge>
  );
}

export function DevicePage(): ReactNode {
  const t = useTexts();
  const { deviceId } = useParams({ from: '/frame/apps/$appId/devices/$deviceId' });
  const { appId } = useApp();
  const answer = useRead(consoleApi.getDevice, { params: { appId, deviceId } }, { everyMs: EVERY_MS });
  return (
    <Page
      title={t.devices.one}
      of={answer}
      history={<History query={{ appId, target: deviceId }} />}
      back={{ to: `/apps/${appId}/devices`, text: t.devices.back }}
      acts={
        <>
          <TestDeviceButton deviceId={deviceId} />
          <ActButton
            title={t.devices.delete}
            says={t.devices.deleteSays}
            button={t.acts.delete}
            typed={deviceId}
            route={consoleApi.deleteDevices}
            input={{ params: { appId }, body: { deviceIds: [deviceId] } }}
            done={() => t.devices.deleted}
            leadsTo={`/apps/${appId}/devices`}
          />
        </>
      }
    >
      <Answer of={answer}>
        {({ device }) => (
          <Panel title={device.deviceType}>
            <Group gap="sm" fz="sm">
              <Copyable value={deviceId} />
              <Connection device={device} />
              {device.connectedSince !== null && <When at={device.connectedSince} />}
              {device.userId !== null && (
                <RowLink to={`/apps/${appId}/users/${device.userId}`}>{t.messages.openUser}</RowLink>
              )}
            </Group>
            <ChannelsField key={deviceId} device={device} />
            <JsonBlock value={device.fields} />
          </Panel>
        )}
      </Answer>
    </Page>
  );
}

interface ChannelChange {
  readonly added: readonly string[];
  readonly removed: readonly string[];
}

function channelChange(before: readonly string[], after: readonly string[]): ChannelChange {
  return {
    added: after.filter((name) => !before.includes(name)),
    // The field cannot show the broadcast channel, which has no name.
    removed: before.filter((name) => name !== '' && !after.includes(name)),
  };
}

/** Operations of the REST API that leave other channels as they are. */
function operationOf({ added, removed }: ChannelChange): Record<string, unknown> {
  const ops = [
    ...(added.length === 0 ? [] : [{ __op: 'AddUnique', objects: added }]),
    ...(removed.length === 0 ? [] : [{ __op: 'Remove', objects: removed }]),
  ];
  return { __op: 'Batch', ops };
}

/** The channels of a device, saved with Undo; those that the device has changed since the edit began stay. */
function ChannelsField({ device }: { readonly device: Device }): ReactNode {
  const t = useTexts();
  const { appId, may } = useApp();
  const notices = useNotices();
  const change = useAct(consoleApi.changeDevice);
  const edit = useEdit<Device, string>(device, ({ channels }) => channels);
  const shown = edit.base.channels.filter((name) => name !== '').join(', ');
  const write = (changed: ChannelChange) => {
    const params = { appId, deviceId: device.objectId };
    return change.mutateAsync({ params, body: { changes: { channels: operationOf(changed) } } });
  };
  const save = async (text: string, on: Device) => {
    const channels = listOf(text);
    const changed = channelChange(on.channels, channels);
    // Other commas and spaces change nothing, and the service refuses a Batch without operations.
    if (changed.added.length + changed.removed.length > 0) {
      await write(changed);
      notices.undoable(t.acts.saved, () => write({ added: changed.removed, removed: changed.added }));
    }
    return { ...on, channels };
  };
  return (
    <EditForm edit={edit} save={save}>
      <TextInput
        label={t.devices.channels}
        description={t.devices.channelsSays}
        value={edit.typed ?? shown}
        readOnly={!may('devices.write')}
        onChange={onText((text) => (text === shown ? edit.discard() : edit.type(text)))}
      />
    </EditForm>
  );
}
