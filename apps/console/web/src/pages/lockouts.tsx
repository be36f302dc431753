import { Link, useParams, useSearch } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { consoleApi } from '#console-api';
import { useRead } from '../api/queries';
import { Answer, Empty, Page, Panel } from '../parts/panel';
import { When } from '../parts/when';
import { DataTable, Pager } from '../table/data-table';
import { useTexts } from '../texts/texts';

/** `/lockouts`: the users who are locked now. */
export function LockoutsPage(): ReactNode {
  const t = useTexts();
  const { appId } = useParams({ from: '/frame/apps/$appId/lockouts' });
  const { after } = useSearch({ from: '/frame/apps/$appId/lockouts' });
  const lockouts = useRead(
    consoleApi.listLockouts,
    { params: { appId }, query: after === undefined ? {} : { after } },
    { everyMs: 5_000 },
  );
  return (
    <Page title={t.users.locked}>
      <Panel>
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
    </Page>
  );
}
