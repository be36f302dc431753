import { Alert, Code, Group, SimpleGrid, Stack, Text } from '@mantine/core';
import { Link, useParams } from '@tanstack/react-router';
import { lazy, type ReactNode, Suspense } from 'react';
import { consoleApi, type Overview } from '#console-api';
import { useRead } from '../api/queries';
import { Icon } from '../parts/icon';
import { Answer, CopyButton, Empty, Page, Panel } from '../parts/panel';
import { useFormats, When } from '../texts/format';
import { useTexts } from '../texts/texts';

/** The services count all users and devices. */
const EVERY_MS = 10_000;

const OverviewSeries = lazy(async () => ({ default: (await import('./overview-series')).OverviewSeries }));

export function OverviewPage(): ReactNode {
  const { appId } = useParams({ from: '/frame/apps/$appId/overview' });
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
      <LiveFigures appId={appId} />
      <Suspense>
        <OverviewSeries appId={appId} />
      </Suspense>
    </Page>
  );
}

function LiveFigures({ appId }: { readonly appId: string }): ReactNode {
  const overview = useRead(consoleApi.getOverview, { params: { appId } }, { everyMs: EVERY_MS });
  return (
    <Answer of={overview} lines={10}>
      {(data) => (
        <>
          <Attention data={data} appId={appId} />
          <Figures data={data} appId={appId} />
          <SimpleGrid cols={{ base: 1, md: 2 }}>
            <PushesUnderWay data={data} appId={appId} />
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
      <Text size="sm" c="dimmed">
        {name}
      </Text>
      <Code className="wrap">{value}</Code>
      <CopyButton value={value} />
    </Group>
  );
}

interface DataProps {
  readonly data: Overview;
  readonly appId: string;
}

/** The problems that an operator should look at, with links to the pages that solve them. */
function Attention({ data, appId }: DataProps): ReactNode {
  const t = useTexts();
  const formats = useFormats();
  const { value: dead, isExact } = data.messages?.dead ?? { value: 0, isExact: true };
  const notices = useSettingNotices(appId);
  const isCalm = [notices, data.unverifiedPlatforms, data.unavailable].every(({ length }) => length === 0);
  if (isCalm && dead === 0) return null;
  return (
    <Alert color="warning" icon={<Icon name="warning" />} title={t.overview.attention}>
      <ul className="list">
        {data.unavailable.map((service) => (
          <li key={service}>{t.overview.away(service)}</li>
        ))}
        {dead > 0 && (
          <li>
            {t.overview.dead(dead, t.common.about(formats.number(dead), isExact))}{' '}
            <Link to="/apps/$appId/messages" params={{ appId }} search={{ status: 'dead' }}>
              {t.acts.show}
            </Link>
          </li>
        )}
        {data.unverifiedPlatforms.map(({ platform, accounts }) => (
          <li key={platform}>
            {t.overview.unverified(platform, accounts, formats.number(accounts))}{' '}
            <Link to="/apps/$appId/settings" params={{ appId }} search={{ tab: 'platforms' }}>
              {t.overview.setCredentials}
            </Link>
          </li>
        ))}
        {notices.map(({ says, tab }) => (
          <li key={says}>
            {says}{' '}
            <Link to="/apps/$appId/settings" params={{ appId }} search={{ tab }}>
              {t.acts.show}
            </Link>
          </li>
        ))}
      </ul>
    </Alert>
  );
}

interface SettingNotice {
  readonly says: string;
  /** Of the settings. */
  readonly tab: 'general' | 'keys';
}

/** Notices about settings that weaken the application's security. */
function useSettingNotices(appId: string): readonly SettingNotice[] {
  const t = useTexts();
  const { data } = useRead(consoleApi.getApplication, { params: { appId } });
  if (data === undefined) return [];
  const { oldKeys, settings } = data.application;
  const hasOldMasterKey = oldKeys.some(({ kind }) => kind === 'master');
  const isQuiet = settings.some(({ name, value }) => name === 'quietProfile' && value === 'true');
  return [
    ...(hasOldMasterKey ? [{ says: t.overview.oldMasterKey, tab: 'keys' as const }] : []),
    ...(isQuiet ? [] : [{ says: t.overview.notQuiet, tab: 'general' as const }]),
  ];
}

type Total = NonNullable<Overview['users']>['total'];

function Figures({ data: { users, devices, messages, pushes }, appId }: DataProps): ReactNode {
  const t = useTexts();
  const { number } = useFormats();
  const shown = (total: Total | undefined) =>
    total === undefined ? '–' : t.common.about(number(total.value), total.isExact);
  return (
    <SimpleGrid cols={{ base: 2, sm: 3, lg: 6 }} spacing="sm">
      <Figure
        name={t.overview.users}
        value={
          <Link to="/apps/$appId/users" params={{ appId }}>
            {shown(users?.total)}
          </Link>
        }
      />
      <Figure name={t.overview.newToday} value={shown(users?.lastDay)} />
      <Figure
        name={t.overview.lockedNow}
        value={
          users === null ? (
            '–'
          ) : (
            <Link to="/apps/$appId/limits" params={{ appId }}>
              {shown(users.locked)}
            </Link>
          )
        }
      />
      <Figure
        name={t.overview.connected}
        value={
          devices === null ? (
            '–'
          ) : (
            <Link to="/apps/$appId/devices" params={{ appId }} search={{ connected: true }}>
              {number(devices.connected)}
            </Link>
          )
        }
      />
      <Figure name={t.overview.mailsSent} value={shown(messages?.sent)} />
      <Figure name={t.overview.scheduled} value={pushes === null ? '–' : number(pushes.scheduled)} />
    </SimpleGrid>
  );
}

function Figure({ name, value }: { readonly name: string; readonly value: ReactNode }): ReactNode {
  return (
    <Panel>
      <Stack gap={0}>
        <Text size="xl" fw={600} className="figures" component="div">
          {value}
        </Text>
        <Text size="sm" c="dimmed">
          {name}
        </Text>
      </Stack>
    </Panel>
  );
}

function PushesUnderWay({ data: { pushes }, appId }: DataProps): ReactNode {
  const t = useTexts();
  return (
    <Panel title={t.overview.pushesUnderWay}>
      {pushes === null || pushes.underWay.length === 0 ? (
        <Empty title={t.overview.noPushes} />
      ) : (
        <Stack gap={6}>
          {pushes.underWay.map(({ objectId, title, createdAt }) => (
            <Group key={objectId} justify="space-between" gap="xs" fz="sm">
              <Link to="/apps/$appId/pushes/$pushId" params={{ appId, pushId: objectId }}>
                <bdi>{title === '' ? objectId : title}</bdi>
              </Link>
              <When at={createdAt} />
            </Group>
          ))}
        </Stack>
      )}
    </Panel>
  );
}

function DevicePlatforms({ data: { devices } }: { readonly data: Overview }): ReactNode {
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
