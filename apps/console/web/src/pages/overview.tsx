import { Alert, Badge, Code, Group, SimpleGrid, Stack, Text } from '@mantine/core';
import { Link, useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { consoleApi, type Overview } from '#console-api';
import { useRead } from '../api/queries';
import { CopyButton } from '../parts/copy';
import { Icon } from '../parts/icon';
import { Answer, Empty, Page, Panel } from '../parts/panel';
import { Plot } from '../parts/plot';
import { When } from '../parts/when';
import { isServed } from '../shell/navigation';
import { useFormats } from '../texts/format';
import { useTexts } from '../texts/texts';

const EVERY_MS = 5_000;

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
      {isServed('getOverview') && <LiveFigures appId={appId} />}
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
          <Plots data={data} />
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

/** What an operator should look at, with where to do something about it. */
function Attention({ data, appId }: DataProps): ReactNode {
  const t = useTexts();
  const formats = useFormats();
  const dead = data.messages?.dead ?? 0;
  const isCalm = dead === 0 && data.unverifiedPlatforms.length === 0 && data.away.length === 0;
  if (isCalm) return null;
  return (
    <Alert color="warning" icon={<Icon name="warning" />} title={t.overview.attention}>
      <ul className="list">
        {data.away.map((service) => (
          <li key={service}>{t.overview.away(service)}</li>
        ))}
        {dead > 0 && (
          <li>
            {t.overview.dead(dead, formats.number(dead))}{' '}
            <Link to="/apps/$appId/messages" params={{ appId }} search={{ status: 'dead' }}>
              {t.acts.show}
            </Link>
          </li>
        )}
        {data.unverifiedPlatforms.map(({ platform, accounts }) => (
          <li key={platform}>
            {t.overview.unverified(platform, formats.number(accounts))}{' '}
            <Link to="/apps/$appId/settings" params={{ appId }} search={{ tab: 'platforms' }}>
              {t.overview.setCredentials}
            </Link>
          </li>
        ))}
      </ul>
    </Alert>
  );
}

function Figures({ data: { users, devices, messages, pushes }, appId }: DataProps): ReactNode {
  const t = useTexts();
  const { number } = useFormats();
  const total = users === null ? '–' : t.common.about(number(users.total.value), users.total.isExact);
  return (
    <SimpleGrid cols={{ base: 2, sm: 3, lg: 6 }} spacing="sm">
      <Figure
        name={t.overview.users}
        value={
          <Link to="/apps/$appId/users" params={{ appId }}>
            {total}
          </Link>
        }
      />
      <Figure name={t.overview.newToday} value={users === null ? '–' : number(users.lastDay)} />
      <Figure
        name={t.overview.lockedNow}
        value={
          users === null ? (
            '–'
          ) : (
            <Link to="/apps/$appId/lockouts" params={{ appId }}>
              {number(users.lockedNow)}
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
      <Figure name={t.overview.mailsSent} value={messages === null ? '–' : number(messages.sent)} />
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

function Plots({ data: { series } }: { readonly data: Overview }): ReactNode {
  const t = useTexts();
  const pointsOf = (wanted: Overview['series'][number]['name']) =>
    series.find(({ name }) => name === wanted)?.points ?? [];
  const plots = [
    { title: t.overview.series.signUps, points: pointsOf('signUps') },
    {
      title: t.overview.series.mailsSent,
      points: pointsOf('mailsSent'),
      second: { title: t.overview.series.mailsRefused, points: pointsOf('mailsRefused') },
    },
    {
      title: t.overview.series.pushesTargeted,
      points: pointsOf('pushesTargeted'),
      second: { title: t.overview.series.pushesDelivered, points: pointsOf('pushesDelivered') },
    },
  ].filter(({ points }) => points.length > 1);
  if (plots.length === 0) return null;
  return (
    <SimpleGrid cols={{ base: 1, sm: 2, lg: plots.length }}>
      {plots.map((plot) => (
        <Panel key={plot.title}>
          <Plot {...plot} />
        </Panel>
      ))}
    </SimpleGrid>
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
          {pushes.underWay.map(({ id, title, createdAt, status }) => (
            <Group key={id} justify="space-between" gap="xs" fz="sm">
              <Link to="/apps/$appId/pushes/$pushId" params={{ appId, pushId: id }}>
                <bdi>{title === '' ? id : title}</bdi>
              </Link>
              <Group gap="xs">
                <Badge>{t.pushes.statusOf(status)}</Badge>
                <When at={createdAt} />
              </Group>
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
  const most = Math.max(1, ...platforms.map(([, { installations }]) => installations));
  return (
    <Panel title={t.overview.devices}>
      {platforms.length === 0 ? (
        <Empty title={t.devices.none} />
      ) : (
        <dl className="bars">
          {platforms.map(([platform, { installations }]) => (
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
