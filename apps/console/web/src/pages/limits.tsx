import { Link, useParams, useSearch } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { consoleApi } from '#console-api';
import { useRead } from '../api/queries';
import { Answer, Empty, Page, Panel } from '../parts/panel';
import { DataTable, Pager } from '../table/data-table';
import { useFormats, When } from '../texts/format';
import { useTexts } from '../texts/texts';

const EVERY = { everyMs: 5_000 };
/** Clients on the page; further ones are not shown. */
const MAX_CLIENTS = 200;

/** `/limits`: the users who are locked now, and the clients whose requests are refused. */
export function LimitsPage(): ReactNode {
  const t = useTexts();
  const { appId } = useParams({ from: '/frame/apps/$appId/limits' });
  return (
    <Page title={t.pages.limits}>
      <LockedUsers appId={appId} />
      <LimitedClients appId={appId} />
    </Page>
  );
}

function LockedUsers({ appId }: { readonly appId: string }): ReactNode {
  const t = useTexts();
  const { after } = useSearch({ from: '/frame/apps/$appId/limits' });
  const query = after === undefined ? {} : { after };
  const lockouts = useRead(consoleApi.listLockouts, { params: { appId }, query }, EVERY);
  return (
    <Panel title={t.users.locked}>
      <Answer of={lockouts}>
        {({ items, next }) => (
          <>
            {items.length === 0 ? (
              <Empty title={t.users.noneLocked} says={t.users.noneLockedSays} />
            ) : (
              <DataTable
                label={t.users.locked}
                rows={items}
                idOf={({ userId }) => userId}
                columns={[
                  {
                    id: 'user',
                    header: t.users.fields.username,
                    cell: ({ userId, username }) => (
                      <Link to="/apps/$appId/users/$userId" params={{ appId, userId }}>
                        <bdi>{username ?? userId}</bdi>
                      </Link>
                    ),
                  },
                  { id: 'until', header: t.users.lockedUntil, cell: ({ lockedUntil }) => <When at={lockedUntil} /> },
                ]}
              />
            )}
            <Pager next={next} isFirst={after === undefined} />
          </>
        )}
      </Answer>
    </Panel>
  );
}

function LimitedClients({ appId }: { readonly appId: string }): ReactNode {
  const t = useTexts();
  const { number } = useFormats();
  const clients = useRead(consoleApi.listLimitedClients, { params: { appId }, query: { limit: MAX_CLIENTS } }, EVERY);
  return (
    <Panel title={t.limits.clients}>
      <Answer of={clients}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty title={t.limits.none} says={t.limits.noneSays} />
          ) : (
            <DataTable
              label={t.limits.clients}
              rows={items}
              idOf={({ group, network }) => `${group} ${network}`}
              columns={[
                { id: 'network', header: t.limits.network, cell: ({ network }) => network },
                { id: 'group', header: t.limits.limit, cell: ({ group }) => t.limits.groupOf(group) },
                { id: 'count', header: t.limits.count, cell: ({ count }) => number(count), isNumber: true },
                { id: 'until', header: t.limits.until, cell: ({ until }) => <When at={until} /> },
              ]}
            />
          )
        }
      </Answer>
    </Panel>
  );
}
