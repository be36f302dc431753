import { Button, Group, Stack, Text } from '@mantine/core';
import type { UseQueryResult } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { consoleApi, type RouteReply } from '#console-api';
import { useAct, useApp, useRead } from '../api/queries';
import { ActButton } from '../parts/dialogs';
import { Failure } from '../parts/panel';
import { RowLink } from '../table/data-table';
import { useFormats, useTexts } from '../texts/texts';
import { newId, requestIdOf } from './new-push.rules';

/** The operator's own; none are asked for without the permission. */
function useTestDevices(): UseQueryResult<RouteReply<typeof consoleApi.listTestDevices>> {
  const { appId, may } = useApp();
  return useRead(consoleApi.listTestDevices, { params: { appId } }, { enabled: may('pushes.test') });
}

/** @returns whether a device is one of the operator's; undefined until it is known */
export function useIsTestDevice(): ((deviceId: string) => boolean) | undefined {
  const { data } = useTestDevices();
  return data && ((deviceId) => data.items.some(({ objectId }) => objectId === deviceId));
}

export function TestDeviceButton({ deviceId }: { readonly deviceId: string }): ReactNode {
  const t = useTexts();
  const { appId } = useApp();
  const isTest = useIsTestDevice();
  if (isTest === undefined) return null;
  const [text, route] = isTest(deviceId)
    ? [t.devices.unmark, consoleApi.unmarkTestDevice]
    : [t.devices.mark, consoleApi.markTestDevice];
  return <ActButton text={text} route={route} input={{ params: { appId, deviceId } }} />;
}

/** Sends the push to the operator's own test devices; the form stays. Sent once more, it is another push. */
export function TestPushButton({ body }: { readonly body: Record<string, unknown> | undefined }): ReactNode {
  const t = useTexts();
  const { appId } = useApp();
  const { number } = useFormats();
  const devices = useTestDevices();
  const send = useAct(consoleApi.sendTestPush);
  const [id, setId] = useState(newId);
  // A push leaves the others out.
  const count = devices.data?.items.filter(({ isValid }) => isValid).length ?? 0;
  const push = { ...body, req_id: requestIdOf(id, body ?? {}) };
  return (
    <Stack gap={4} align="flex-start">
      <Button
        size="sm"
        disabled={body === undefined || count === 0}
        loading={send.isPending}
        onClick={() => send.mutate({ params: { appId }, body: { body: push } }, { onSuccess: () => setId(newId) })}
      >
        {t.newPush.sendToTest(count, number(count))}
      </Button>
      <Failure error={devices.error} />
      {devices.isSuccess && <WhyFewer count={count} missing={devices.data.missing} />}
      <Failure error={send.error} />
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

function WhyFewer({ count, missing }: Readonly<Record<'count' | 'missing', number>>): ReactNode {
  const t = useTexts();
  const { appId } = useApp();
  const { number } = useFormats();
  return (
    <>
      {count === 0 && (
        <Text c="dimmed">
          {t.newPush.noTestDevice} <RowLink to={`/apps/${appId}/devices`}>{t.pages.devices}</RowLink>
        </Text>
      )}
      {missing > 0 && <Text c="dimmed">{t.newPush.missingTestDevices(missing, number(missing))}</Text>}
    </>
  );
}
