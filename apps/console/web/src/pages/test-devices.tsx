import { Button, Group, Stack, Text } from '@mantine/core';
import type { UseQueryResult } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { consoleApi, type RouteReply } from '#console-api';
import { useAct, useMay, useRead } from '../api/queries';
import { ActButton } from '../parts/dialogs';
import { Failure } from '../parts/panel';
import { useFormats } from '../texts/format';
import { useTexts } from '../texts/texts';
import { newId, requestIdOf } from './new-push.rules';

/** The operator's own; none are asked for without the permission. */
function useTestDevices(appId: string): UseQueryResult<RouteReply<typeof consoleApi.listTestDevices>> {
  const enabled = useMay(appId)('pushes.test');
  return useRead(consoleApi.listTestDevices, { params: { appId } }, { enabled });
}

/** @returns whether a device is one of the operator's; undefined until it is known */
export function useIsTestDevice(appId: string): ((deviceId: string) => boolean) | undefined {
  const { data } = useTestDevices(appId);
  return data && ((deviceId) => data.items.some(({ objectId }) => objectId === deviceId));
}

interface DeviceProps {
  readonly appId: string;
  readonly deviceId: string;
}

export function TestDeviceButton({ appId, deviceId }: DeviceProps): ReactNode {
  const t = useTexts();
  const isTest = useIsTestDevice(appId);
  if (isTest === undefined) return null;
  const [text, route] = isTest(deviceId)
    ? [t.devices.unmark, consoleApi.unmarkTestDevice]
    : [t.devices.mark, consoleApi.markTestDevice];
  return <ActButton text={text} route={route} input={{ params: { appId, deviceId } }} />;
}

interface SendProps {
  readonly appId: string;
  /** Undefined while it is incomplete. */
  readonly body: Record<string, unknown> | undefined;
}

/** Sends the push to the operator's own test devices; the form stays. Sent once more, it is another push. */
export function TestPushButton({ appId, body }: SendProps): ReactNode {
  const t = useTexts();
  const { number } = useFormats();
  const devices = useTestDevices(appId);
  const send = useAct(consoleApi.sendTestPush);
  const [id, setId] = useState(newId);
  // A push leaves the others out.
  const count = devices.data?.items.filter(({ isValid }) => isValid).length ?? 0;
  const sendTo = async (push: Record<string, unknown>) => {
    await send.mutateAsync({ params: { appId }, body: { body: { ...push, req_id: requestIdOf(id, push) } } });
    setId(newId);
  };
  return (
    <Stack gap={4} align="flex-start">
      <Button
        size="sm"
        disabled={body === undefined || count === 0}
        loading={send.isPending}
        onClick={() => {
          if (body !== undefined) void sendTo(body).catch(() => undefined);
        }}
      >
        {t.newPush.sendToTest(count, number(count))}
      </Button>
      <WhyFewer appId={appId} devices={devices} count={count} />
      {send.error !== null && <Failure error={send.error} />}
      <Group gap="xs" fz="sm" role="status">
        {send.isSuccess && (
          <>
            {t.newPush.sentToTest(send.data.devices, number(send.data.devices))}
            {/* In another tab: the form stays. */}
            <Link to="/apps/$appId/pushes/$pushId" params={{ appId, pushId: send.data.objectId }} target="_blank">
              {t.newPush.watch}
            </Link>
          </>
        )}
      </Group>
    </Stack>
  );
}

interface WhyFewerProps {
  readonly appId: string;
  readonly devices: ReturnType<typeof useTestDevices>;
  readonly count: number;
}

function WhyFewer({ appId, devices, count }: WhyFewerProps): ReactNode {
  const t = useTexts();
  const { number } = useFormats();
  const missing = devices.data?.missing ?? 0;
  return (
    <>
      {devices.error !== null && <Failure error={devices.error} />}
      {devices.isSuccess && count === 0 && (
        <Text c="dimmed">
          {t.newPush.noTestDevice}{' '}
          <Link to="/apps/$appId/devices" params={{ appId }}>
            {t.pages.devices}
          </Link>
        </Text>
      )}
      {missing > 0 && <Text c="dimmed">{t.newPush.missingTestDevices(missing, number(missing))}</Text>}
    </>
  );
}
