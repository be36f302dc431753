import { Group, Progress, Stack, Text } from '@mantine/core';
import { Link, useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { consoleApi, type PushDetails } from '#console-api';
import { useApp, useRead } from '../api/queries';
import { ActButton } from '../parts/dialogs';
import { Answer, Bdi, Copyable, Empty, JsonBlock, Page, Panel } from '../parts/panel';
import { DataTable } from '../table/data-table';
import { useFormats, useTexts, When } from '../texts/texts';
import { History } from './audit';
import { PushStatus } from './pushes';

const EVERY_MS = 1_000;
const IDLE_MS = 5_000;
const PARTS = ['delivered', 'queued', 'expired', 'overflowed', 'unreachable', 'vendor'] as const;
type Counts = PushDetails['platforms'][string];

export function PushPage(): ReactNode {
  const t = useTexts();
  const { pushId } = useParams({ from: '/frame/apps/$appId/pushes/$pushId' });
  const { appId, may } = useApp();
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
      title={<Bdi>{name}</Bdi>}
      of={answer}
      history={<History query={{ appId, target: pushId }} />}
      back={{ to: `/apps/${appId}/pushes`, text: t.pushes.back }}
      acts={
        <>
          {may('pushes.send') && (
            <Link to="/apps/$appId/pushes/new" params={{ appId }} search={{ from: pushId }} className="button">
              {t.pushes.again}
            </Link>
          )}
          {push !== undefined && canStop(push) && (
            <ActButton
              title={t.pushes.stop}
              says={t.pushes.stopSays}
              typed={pushId}
              route={consoleApi.stopPush}
              input={{ params: { appId, pushId } }}
              done={() => t.pushes.stopped}
              leadsTo={`/apps/${appId}/pushes`}
            />
          )}
        </>
      }
    >
      <Answer of={answer}>
        {({ push: shown }) => (
          <Stack>
            <State push={shown} />
            <Funnel push={shown} />
            <Vendors push={shown} />
            <Panel title={t.pushes.sent}>
              <JsonBlock value={{ data: shown.data, where: shown.where ?? undefined }} />
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
        <PushStatus status={push.status} />
        <When at={push.createdAt} isFull />
        {push.startsAt !== null && <span>{t.pushes.startsAt(formats.time(push.startsAt))}</span>}
        <span>{t.pushes.expiresAt(formats.time(push.expiresAt))}</span>
        <Copyable value={push.objectId} />
      </Group>
      {push.error !== null && (
        <Text c="bad" lang="en">
          {push.error}
        </Text>
      )}
      {push.progress !== null && (
        <Stack gap={4}>
          <Text>{t.pushes.searching(push.progress.partition, push.progress.of)}</Text>
          <Progress
            value={(push.progress.partition / push.progress.of) * 100}
            aria-label={t.pushes.searching(push.progress.partition, push.progress.of)}
          />
        </Stack>
      )}
    </Panel>
  );
}

function Funnel({ push }: { readonly push: PushDetails }): ReactNode {
  const t = useTexts();
  const { number, percent } = useFormats();
  const platforms = Object.entries(push.platforms);
  const sum = (part: keyof Counts) => platforms.reduce((total, [, counts]) => total + (counts[part] ?? 0), 0);
  const targeted = sum('targeted');
  const parts = platforms.length === 0 ? [] : (['targeted', ...PARTS] as const);
  return (
    <Panel title={t.pushes.funnel}>
      <DataTable
        label={t.pushes.funnel}
        rows={parts.filter((part) => part !== 'vendor' || sum('vendor') > 0)}
        idOf={(part) => part}
        empty={<Empty title={push.status === 'done' ? t.pushes.noDevices : t.pushes.notCounted} />}
        columns={[
          {
            header: t.users.state,
            cell: (part) => (
              <>
                {t.pushes.parts[part]}
                <Text c="dimmed">{t.pushes.explained[part]}</Text>
              </>
            ),
          },
          {
            header: t.pushes.devices,
            isNumber: true,
            cell: (part) => <span data-part={part}>{number(sum(part))}</span>,
          },
          {
            header: t.pushes.share,
            from: 'sm',
            cell: (part) => (
              <Group gap="xs" wrap="nowrap" miw="14rem">
                <span className="bar" style={{ width: `${targeted === 0 ? 0 : (sum(part) / targeted) * 80}%` }} />
                <span className="unbroken">{targeted > 0 && percent(sum(part) / targeted)}</span>
              </Group>
            ),
          },
          ...platforms.map(
            ([platform, counts]) =>
              ({
                header: platform,
                from: 'md',
                isNumber: true,
                cell: (part: keyof Counts) => number(counts[part] ?? 0),
              }) as const,
          ),
        ]}
      />
    </Panel>
  );
}

function Vendors({ push }: { readonly push: PushDetails }): ReactNode {
  const t = useTexts();
  const { number } = useFormats();
  const vendors = Object.entries(push.vendors);
  if (vendors.length === 0) return null;
  const parts = ['targeted', 'accepted', 'waiting', 'paused', 'invalid', 'rejected', 'expired'] as const;
  const isPaused = vendors.some(([, { paused = 0 }]) => paused > 0);
  const shown = parts.filter((part) => part !== 'paused' || isPaused);
  return (
    <Panel title={t.pushes.vendors}>
      <DataTable
        label={t.pushes.vendors}
        rows={vendors}
        idOf={([vendor]) => vendor}
        columns={[
          { header: t.pushes.vendor, cell: ([vendor]) => vendor },
          ...shown.map((part) => ({
            header: t.pushes.vendorParts[part],
            isNumber: true,
            cell: ([, counts]: (typeof vendors)[number]) => number(counts[part] ?? 0),
          })),
          {
            header: t.pushes.reasons,
            cell: ([, { reasons }]) => (
              <ul className="list unbroken" lang="en">
                {Object.entries(reasons).map(([reason, count]) => (
                  <li key={reason}>{`${reason}: ${number(count)}`}</li>
                ))}
              </ul>
            ),
          },
        ]}
      />
    </Panel>
  );
}
