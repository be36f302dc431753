import { Badge, Button, Code, Group, Progress, Stack, Table, Text } from '@mantine/core';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { consoleApi, type PushDetails } from '#console-api';
import { useAct, useMay, useRead } from '../api/queries';
import { Confirm, useNotices } from '../parts/dialogs';
import { Answer, CopyButton, Empty, Failure, Page, Panel } from '../parts/panel';
import { useFormats, When } from '../texts/format';
import { useTexts } from '../texts/texts';
import { PUSH_COLORS } from './pushes';

const EVERY_MS = 1_000;
const IDLE_MS = 5_000;
const PARTS = ['delivered', 'queued', 'expired', 'overflowed', 'unreachable', 'vendor'] as const;
type Counts = PushDetails['platforms'][string];

export function PushPage(): ReactNode {
  const t = useTexts();
  const { appId, pushId } = useParams({ from: '/frame/apps/$appId/pushes/$pushId' });
  const may = useMay(appId);
  const answer = useRead(
    consoleApi.getPush,
    { params: { appId, pushId } },
    { everyMs: (reply) => (reply === undefined || isUnderWay(reply.push) ? EVERY_MS : IDLE_MS) },
  );
  const push = answer.data?.push;
  const name = push === undefined || push.title === '' ? pushId : push.title;
  return (
    <Page
      name={name}
      title={<bdi>{name}</bdi>}
      acts={push !== undefined && canStop(push) && may('pushes.cancel') && <StopButton appId={appId} push={push} />}
    >
      <Link to="/apps/$appId/pushes" params={{ appId }}>
        {t.pushes.back}
      </Link>
      <Answer of={answer}>
        {({ push: shown }) => (
          <Stack>
            <State push={shown} />
            <Funnel push={shown} />
            <Vendors push={shown} />
            <Panel title={t.pushes.sent}>
              <Code block className="wrap">
                {JSON.stringify({ data: shown.data, where: shown.where ?? undefined }, undefined, 2)}
              </Code>
            </Panel>
          </Stack>
        )}
      </Answer>
    </Page>
  );
}

function canStop({ status }: PushDetails): boolean {
  return status === 'scheduled' || status === 'in-queue';
}

/** Counts still change: the push runs, or devices have not answered. */
function isUnderWay(push: PushDetails): boolean {
  return canStop(push) || Object.values(push.platforms).some(({ queued }) => queued > 0);
}

function State({ push }: { readonly push: PushDetails }): ReactNode {
  const t = useTexts();
  const formats = useFormats();
  return (
    <Panel>
      <Group gap="sm" fz="sm" role="status">
        <Badge color={PUSH_COLORS[push.status] ?? 'gray'}>{t.pushes.statusOf(push.status)}</Badge>
        <When at={push.createdAt} />
        {push.startsAt !== null && <span>{t.pushes.startsAt(formats.time(push.startsAt))}</span>}
        <span>{t.pushes.expiresAt(formats.time(push.expiresAt))}</span>
        <Group gap={2}>
          <Code>{push.objectId}</Code>
          <CopyButton value={push.objectId} />
        </Group>
      </Group>
      {push.error !== null && (
        <Text size="sm" c="bad">
          {push.error}
        </Text>
      )}
      {push.progress !== null && (
        <Stack gap={4}>
          <Text size="sm">{t.pushes.searching(push.progress.partition, push.progress.of)}</Text>
          <Progress
            value={(push.progress.partition / push.progress.of) * 100}
            aria-label={t.pushes.searching(push.progress.partition, push.progress.of)}
          />
        </Stack>
      )}
    </Panel>
  );
}

/** The results of the devices: all, and by platform. */
function Funnel({ push }: { readonly push: PushDetails }): ReactNode {
  const t = useTexts();
  const { number, percent } = useFormats();
  const platforms = Object.entries(push.platforms);
  const sum = (part: keyof Counts) => platforms.reduce((total, [, counts]) => total + (counts[part] ?? 0), 0);
  const targeted = sum('targeted');
  if (platforms.length === 0) {
    return (
      <Panel title={t.pushes.funnel}>
        <Empty title={push.status === 'done' ? t.pushes.noDevices : t.pushes.notCounted} />
      </Panel>
    );
  }
  return (
    <Panel title={t.pushes.funnel}>
      <div className="scroll" role="region" aria-label={t.pushes.funnel} tabIndex={0}>
        <Table aria-label={t.pushes.funnel}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{t.users.state}</Table.Th>
              <Table.Th className="number">{t.pushes.devices}</Table.Th>
              <Table.Th visibleFrom="sm">{t.pushes.share}</Table.Th>
              {platforms.map(([platform]) => (
                <Table.Th key={platform} className="number" visibleFrom="md">
                  {platform}
                </Table.Th>
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {(['targeted', ...PARTS] as const)
              .filter((part) => part !== 'vendor' || sum('vendor') > 0)
              .map((part) => (
                <Table.Tr key={part}>
                  <Table.Th scope="row" title={t.pushes.explained[part]}>
                    {t.pushes.parts[part]}
                  </Table.Th>
                  <Table.Td className="number" data-part={part}>
                    {number(sum(part))}
                  </Table.Td>
                  <Table.Td visibleFrom="sm" w="40%">
                    <Group gap="xs" wrap="nowrap">
                      <span className="bar" style={{ width: `${targeted === 0 ? 0 : (sum(part) / targeted) * 80}%` }} />
                      {targeted > 0 && percent(sum(part) / targeted)}
                    </Group>
                  </Table.Td>
                  {platforms.map(([platform, counts]) => (
                    <Table.Td key={platform} className="number" visibleFrom="md">
                      {number(counts[part] ?? 0)}
                    </Table.Td>
                  ))}
                </Table.Tr>
              ))}
          </Table.Tbody>
        </Table>
      </div>
    </Panel>
  );
}

function Vendors({ push }: { readonly push: PushDetails }): ReactNode {
  const t = useTexts();
  const { number } = useFormats();
  const vendors = Object.entries(push.vendors);
  if (vendors.length === 0) return null;
  const parts = ['targeted', 'accepted', 'waiting', 'invalid', 'rejected', 'expired'] as const;
  return (
    <Panel title={t.pushes.vendors}>
      <div className="scroll" role="region" aria-label={t.pushes.vendors} tabIndex={0}>
        <Table aria-label={t.pushes.vendors}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{t.pushes.vendor}</Table.Th>
              {parts.map((part) => (
                <Table.Th key={part} className="number">
                  {t.pushes.vendorParts[part]}
                </Table.Th>
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {vendors.map(([vendor, counts]) => (
              <Table.Tr key={vendor}>
                <Table.Th scope="row">{vendor}</Table.Th>
                {parts.map((part) => (
                  <Table.Td key={part} className="number">
                    {number(counts[part])}
                  </Table.Td>
                ))}
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </div>
    </Panel>
  );
}

function StopButton({ appId, push }: { readonly appId: string; readonly push: PushDetails }): ReactNode {
  const t = useTexts();
  const navigate = useNavigate();
  const notices = useNotices();
  const stop = useAct(consoleApi.stopPush);
  const [isAsking, setAsking] = useState(false);
  return (
    <>
      <Button
        color="bad"
        variant="light"
        onClick={() => {
          setAsking(true);
        }}
      >
        {t.pushes.stop}
      </Button>
      {stop.error !== null && <Failure error={stop.error} />}
      {isAsking && (
        <Confirm
          title={t.pushes.stop}
          says={t.pushes.stopSays}
          button={t.pushes.stop}
          typed={push.objectId}
          onConfirm={async () => {
            await stop.mutateAsync({ params: { appId, pushId: push.objectId } });
            notices.done(t.pushes.stopped);
            await navigate({ to: '/apps/$appId/pushes', params: { appId } });
          }}
          onClose={() => {
            setAsking(false);
          }}
        />
      )}
    </>
  );
}
