import { Badge } from '@mantine/core';
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { consoleApi, PUSH_STATUSES } from '#console-api';
import { useMay, useRead } from '../api/queries';
import { Choice } from '../parts/fields';
import { Icon } from '../parts/icon';
import { Empty, Page, Panel } from '../parts/panel';
import { List } from '../table/data-table';
import { useFormats, When } from '../texts/format';
import { useTexts } from '../texts/texts';

const FROM = '/frame/apps/$appId/pushes';
const EVERY_MS = 3_000;

const PUSH_COLORS: Readonly<Record<string, string>> = {
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
  const input = { params: { appId }, query: { status, after } };
  const pushes = useRead(consoleApi.listPushes, input, { everyMs: EVERY_MS });
  const newPush = (may('pushes.send') || may('pushes.test')) && (
    <Link to="/apps/$appId/pushes/new" params={{ appId }} className="button">
      <Icon name="add" size={16} />
      {t.pushes.create}
    </Link>
  );
  return (
    <Page title={t.pages.pushes} acts={newPush}>
      <Panel>
        <Choice
          label={t.messages.status}
          maw="14rem"
          value={status}
          options={PUSH_STATUSES.map((value) => ({ value, label: t.pushes.statusOf(value) }))}
          onChange={(chosen) => void navigate({ search: { status: chosen } })}
        />
        <List
          label={t.pages.pushes}
          of={pushes}
          page={{ after }}
          idOf={({ objectId }) => objectId}
          empty={<Empty title={t.pushes.none} says={t.pushes.noneSays} />}
          columns={[
            {
              header: t.pushes.message,
              cell: ({ objectId, title }) => (
                <Link to="/apps/$appId/pushes/$pushId" params={{ appId, pushId: objectId }}>
                  <bdi>{title === '' ? objectId : title}</bdi>
                </Link>
              ),
            },
            { header: t.messages.status, cell: (push) => <PushStatus status={push.status} /> },
            {
              header: t.pushes.targeted,
              from: 'sm',
              isNumber: true,
              cell: ({ targeted }) => (targeted === null ? '–' : number(targeted)),
            },
            {
              header: t.pushes.delivered,
              from: 'sm',
              isNumber: true,
              cell: ({ targeted, delivered }) =>
                delivered === null || targeted === null || targeted === 0
                  ? '–'
                  : `${number(delivered)} (${percent(delivered / targeted)})`,
            },
            { header: t.common.createdAt, cell: ({ createdAt }) => <When at={createdAt} /> },
          ]}
        />
      </Panel>
    </Page>
  );
}

export function PushStatus({ status }: { readonly status: string }): ReactNode {
  const t = useTexts();
  return <Badge color={PUSH_COLORS[status] ?? 'gray'}>{t.pushes.statusOf(status)}</Badge>;
}
