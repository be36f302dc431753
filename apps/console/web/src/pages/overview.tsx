import { Alert, Group, SimpleGrid, Stack, Text } from '@mantine/core';
import { lazy, type ReactNode, Suspense } from 'react';
import { consoleApi, type Overview } from '#console-api';
import { useApp, useRead } from '../api/queries';
import { Answer, Copyable, Empty, Icon, Page, Panel } from '../parts/panel';
import { RowLink } from '../table/data-table';
import { useFormats, useTexts, When } from '../texts/texts';

const EVERY_MS = 10_000;

const OverviewSeries = lazy(async () => ({ default: (await import('./overview-series')).OverviewSeries }));
const History = lazy(async () => ({ default: (await import('./audit')).History }));

export function OverviewPage(): ReactNode {
  const { appId } = useApp();
  const application = useRead(consoleApi.getApplication, { params: { appId } });
  const t = useTexts();
  return (
    <Page title={t.pages.overview}>
      <Answer of={application} lines={1}>
        {({ application: { appKey, apiUrl } }) => (
          <Group gap="lg" fz="sm">
            <Named name={t.applications.id} value={appId} />
            <Named name={t.settings.appKey} value={appKey} />
            <Named name={t.settings.apiUrl} value={apiUrl} />
          </Group>
        )}
      </Answer>
      <LiveFigures />
      <Suspense>
        <OverviewSeries />
        <History title={t.overview.latest} query={{ appId, limit: 5 }} />
      </Suspense>
    </Page>
  );
}

function LiveFigures(): ReactNode {
  const { appId } = useApp();
  const overview = useRead(consoleApi.getOverview, { params: { appId } }, { everyMs: EVERY_MS });
  return (
    <Answer of={overview} lines={10}>
      {(data) => (
        <>
          <Attention data={data} />
          <Figures data={data} />
          <SimpleGrid cols={{ base: 1, md: 2 }}>
            <PushesUnderWay data={data} />
            <DevicePlatforms data={data} />
          </SimpleGrid>
        </>
      )}
    </Answer>
  );
}

function Named({ name, value }: { readonly name: string; readonly value: string }): ReactNode {
  return (
    <Group gap={6} wrap="nowrap" miw={0}>
      <Text c="dimmed">{name}</Text>
      <Copyable value={value} />
    </Group>
  );
}

interface DataProps {
  readonly data: Overview;
}

function Attention({ data }: DataProps): ReactNode {
  const t = useTexts();
  const formats = useFormats();
  const { appId } = useApp();
  const { value: dead, isExact } = data.messages?.dead ?? { value: 0, isExact: true };
  const deadSays = t.overview.dead(dead, t.common.about(formats.number(dead), isExact));
  const settings = `/apps/${appId}/settings?tab=`;
  const notices: readonly { readonly says: string; readonly to?: string; readonly text?: string }[] = [
    ...data.unavailable.map((service) => ({ says: t.overview.away(service) })),
    ...(dead === 0 ? [] : [{ says: deadSays, to: `/apps/${appId}/messages?status=dead` }]),
    ...data.unverifiedPlatforms.map(({ platform, accounts }) => ({
      says: t.overview.unverified(platform, accounts, formats.number(accounts)),
      to: `${settings}platforms`,
      text: t.overview.setCredentials,
    })),
    ...useWeakSettings().map(({ says, tab }) => ({ says, to: settings + tab })),
  ];
  if (notices.length === 0) return null;
  return (
    <Alert color="warning" icon={<Icon name="warning" />} title={t.overview.attention}>
      <ul className="list">
        {notices.map(({ says, to, text = t.acts.show }) => (
          <li key={says}>
            {says} {to !== undefined && <RowLink to={to}>{text}</RowLink>}
          </li>
        ))}
      </ul>
    </Alert>
  );
}

/** Notices about settings that weaken the application's security, each with its tab. */
function useWeakSettings(): readonly { readonly says: string; readonly tab: string }[] {
  const t = useTexts();
  const { appId } = useApp();
  const { data } = useRead(consoleApi.getApplication, { params: { appId } });
  if (data === undefined) return [];
  const { oldKeys, settings } = data.application;
  const hasOldMasterKey = oldKeys.some(({ kind }) => kind === 'master');
  const isQuiet = settings.some(({ name, value }) => name === 'quietProfile' && value === 'true');
  return [
    ...(hasOldMasterKey ? [{ says: t.overview.oldMasterKey, tab: 'keys' }] : []),
    ...(isQuiet ? [] : [{ says: t.overview.notQuiet, tab: 'general' }]),
  ];
}

type Total = NonNullable<Overview['users']>['total'];

function Figures({ data: { users, devices, messages, pushes } }: DataProps): ReactNode {
  const { appId } = useApp();
  const t = useTexts();
  const { number } = useFormats();
  const shown = (total: Total | undefined) =>
    total === undefined ? '–' : t.common.about(number(total.value), total.isExact);
  const counted = (count: number | undefined) => (count === undefined ? '–' : number(count));
  return (
    <SimpleGrid cols={{ base: 2, sm: 3, lg: 6 }} spacing="sm">
      <Figure name={t.overview.users} value={shown(users?.total)} to={users && `/apps/${appId}/users`} />
      <Figure name={t.overview.newToday} value={shown(users?.lastDay)} />
      <Figure name={t.overview.lockedNow} value={shown(users?.locked)} to={users && `/apps/${appId}/limits`} />
      <Figure
        name={t.overview.connected}
        value={counted(devices?.connected)}
        to={devices && `/apps/${appId}/devices?connected=true`}
      />
      <Figure name={t.overview.mailsSent} value={shown(messages?.sent)} />
      <Figure name={t.overview.scheduled} value={counted(pushes?.scheduled)} />
    </SimpleGrid>
  );
}

interface FigureProps {
  readonly name: string;
  readonly value: string;
  readonly to?: string | null;
}

function Figure({ name, value, to }: FigureProps): ReactNode {
  return (
    <Panel>
      <Stack gap={0}>
        <Text size="xl" fw={600} className="figures" component="div">
          {typeof to !== 'string' ? value : <RowLink to={to}>{value}</RowLink>}
        </Text>
        <Text c="dimmed">{name}</Text>
      </Stack>
    </Panel>
  );
}

function PushesUnderWay({ data: { pushes } }: DataProps): ReactNode {
  const { appId } = useApp();
  const t = useTexts();
  return (
    <Panel title={t.overview.pushesUnderWay}>
      {pushes === null || pushes.underWay.length === 0 ? (
        <Empty title={t.overview.noPushes} />
      ) : (
        <Stack gap={6}>
          {pushes.underWay.map(({ objectId, title, createdAt }) => (
            <Group key={objectId} justify="space-between" gap="xs" fz="sm">
              <RowLink to={`/apps/${appId}/pushes/${objectId}`}>{title === '' ? objectId : title}</RowLink>
              <When at={createdAt} />
            </Group>
          ))}
        </Stack>
      )}
    </Panel>
  );
}

function DevicePlatforms({ data: { devices } }: DataProps): ReactNode {
  const t = useTexts();
  const { number } = useFormats();
  const platforms = Object.entries(devices?.platforms ?? {});
  const most = Math.max(1, ...platforms.map(([, installations]) => installations));
  return (
    <Panel title={t.overview.devices}>
      {platforms.length === 0 ? (
        <Empty title={t.devices.none} />
      ) : (
        <dl className="bars">
          {platforms.map(([platform, installations]) => (
            <div key={platform}>
              <dt>{platform}</dt>
              <dd>
                <span className="bar" style={{ width: `${(installations / most) * 70}%` }} />
                {number(installations)}
              </dd>
            </div>
          ))}
        </dl>
      )}
    </Panel>
  );
}
