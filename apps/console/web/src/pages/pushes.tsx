import { Badge, NativeSelect } from '@mantine/core';
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { consoleApi, PUSH_STATUSES } from '#console-api';
import { useMay, useRead } from '../api/queries';
import { Icon } from '../parts/icon';
import { Answer, Empty, Page, Panel } from '../parts/panel';
import { DataTable, Pager } from '../table/data-table';
import { useFormats, When } from '../texts/format';
import { useTexts } from '../texts/texts';

const FROM = '/frame/apps/$appId/pushes';
const EVERY_MS = 3_000;

export const PUSH_COLORS: Readonly<Record<string, string>> = {
  scheduled: 'link',
  'in-queue': 'link',
  done: 'good',
  error: 'bad',
};

export function PushesPage(): ReactNode {
  const t = useTexts();
  const { number, percent } = useFormats();
  const { appId } = useParams({ from: FROM });
  const { status, after } = useSearch({ from: FROM });
  const may = useMay(appId);
  const navigate = useNavigate({ from: '/apps/$appId/pushes' });
  const query = { ...(status === undefined ? {} : { status }), ...(after === undefined ? {} : { after }) };
  const pushes = useRead(consoleApi.listPushes, { params: { appId }, query }, { everyMs: EVERY_MS });
  const newPush = (may('pushes.send') || may('pushes.test')) && (
    <Link to="/apps/$appId/pushes/new" params={{ appId }} className="button">
      <Icon name="add" size={16} />
      {t.pushes.create}
    </Link>
  );
  return (
    <Page title={t.pages.pushes} acts={newPush}>
      <Panel>
        <NativeSelect
          label={t.messages.status}
          size="xs"
          maw="14rem"
          value={status ?? ''}
          data={[
            { value: '', label: t.common.any },
            ...PUSH_STATUSES.map((value) => ({ value, label: t.pushes.statusOf(value) })),
          ]}
          onChange={(event) => {
            void navigate({ search: { status: PUSH_STATUSES.find((each) => each === event.currentTarget.value) } });
          }}
        />
        <Answer of={pushes} lines={8}>
          {({ items, next }) => (
            <>
              {items.length === 0 ? (
                <Empty title={t.pushes.none} says={t.pushes.noneSays} />
              ) : (
                <DataTable
                  label={t.pages.pushes}
                  rows={items}
                  idOf={({ objectId }) => objectId}
                  isOld={pushes.isPlaceholderData}
                  columns={[
                    {
                      id: 'title',
                      header: t.pushes.message,
                      cell: ({ objectId, title }) => (
                        <Link to="/apps/$appId/pushes/$pushId" params={{ appId, pushId: objectId }}>
                          <bdi>{title === '' ? objectId : title}</bdi>
                        </Link>
                      ),
                    },
                    {
                      id: 'status',
                      header: t.messages.status,
                      cell: (push) => (
                        <Badge color={PUSH_COLORS[push.status] ?? 'gray'}>{t.pushes.statusOf(push.status)}</Badge>
                      ),
                    },
                    {
                      id: 'targeted',
                      header: t.pushes.targeted,
                      from: 'sm',
                      isNumber: true,
                      cell: ({ targeted }) => (targeted === null ? '–' : number(targeted)),
                    },
                    {
                      id: 'delivered',
                      header: t.pushes.delivered,
                      from: 'sm',
                      isNumber: true,
                      cell: ({ targeted, delivered }) =>
                        delivered === null || targeted === null || targeted === 0
                          ? '–'
                          : `${number(delivered)} (${percent(delivered / targeted)})`,
                    },
                    { id: 'at', header: t.common.createdAt, cell: ({ createdAt }) => <When at={createdAt} /> },
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
