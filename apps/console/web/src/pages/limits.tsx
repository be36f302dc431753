import { useSearch } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { consoleApi } from '#console-api';
import { useApp, useRead } from '../api/queries';
import { Empty, Page, Panel } from '../parts/panel';
import { List, RowLink } from '../table/data-table';
import { useFormats, useTexts, When } from '../texts/texts';

const EVERY = { everyMs: 5_000 };
const MAX_CLIENTS = 200;

/** `/limits`: the users who are locked now, and the clients whose requests are refused. */
export function LimitsPage(): ReactNode {
  const t = useTexts();
  return (
    <Page title={t.pages.limits}>
      <LockedUsers />
      <LimitedClients />
    </Page>
  );
}

function LockedUsers(): ReactNode {
  const { appId } = useApp();
  const t = useTexts();
  const { after } = useSearch({ from: '/frame/apps/$appId/limits' });
  const lockouts = useRead(consoleApi.listLockouts, { params: { appId }, query: { after } }, EVERY);
  return (
    <Panel title={t.users.locked}>
      <List
        label={t.users.locked}
        of={lockouts}
        page={{ after }}
        idOf={({ userId }) => userId}
        empty={<Empty title={t.users.noneLocked} says={t.users.noneLockedSays} />}
        columns={[
          {
            header: t.users.fields.username,
            cell: ({ userId, username }) => (
              <RowLink to={`/apps/${appId}/users/${userId}`}>{username ?? userId}</RowLink>
            ),
          },
          { header: t.users.lockedUntil, cell: ({ lockedUntil }) => <When at={lockedUntil} /> },
        ]}
      />
    </Panel>
  );
}

function LimitedClients(): ReactNode {
  const { appId } = useApp();
  const t = useTexts();
  const { number } = useFormats();
  const clients = useRead(consoleApi.listLimitedClients, { params: { appId }, query: { limit: MAX_CLIENTS } }, EVERY);
  return (
    <Panel title={t.limits.clients}>
      <List
        label={t.limits.clients}
        of={clients}
        idOf={({ group, network }) => `${group} ${network}`}
        empty={<Empty title={t.limits.none} says={t.limits.noneSays} />}
        columns={[
          { header: t.limits.network, cell: ({ network }) => network },
          { header: t.limits.limit, cell: ({ group }) => t.limits.groupOf(group) },
          { header: t.limits.count, cell: ({ count }) => number(count), isNumber: true },
          { header: t.limits.until, cell: ({ until }) => <When at={until} /> },
        ]}
      />
    </Panel>
  );
}
