import { Badge } from '@mantine/core';
import { Link, useSearch } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { consoleApi } from '#console-api';
import { useApp, useRead } from '../api/queries';
import { Choice, nameIn, optionsOf, useUrlFilters } from '../parts/fields';
import { SavedViews } from '../parts/list-menus';
import { Empty, Icon, Page, Panel } from '../parts/panel';
import { List, RowLink } from '../table/data-table';
import { useFormats, useTexts, When } from '../texts/texts';

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
  const { appId, may } = useApp();
  const search = useSearch({ from: FROM });
  const { status, after } = search;
  const { filter } = useUrlFilters(search);
  const input = { params: { appId }, query: { status, after } };
  const pushes = useRead(consoleApi.listPushes, input, { everyMs: EVERY_MS });
  const newPush = (may('pushes.send') || may('pushes.test')) && (
    <Link to="/apps/$appId/pushes/new" params={{ appId }} className="button">
      <Icon name="add" size={16} />
      {t.pushes.create}
    </Link>
  );
  return (
    <Page title={t.pages.pushes} acts={[<SavedViews key="views" page="pushes" />, newPush]}>
      <Panel>
        <Choice label={t.messages.status} maw="14rem" options={optionsOf(t.pushes.statuses)} {...filter('status')} />
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
                <RowLink to={`/apps/${appId}/pushes/${objectId}`}>{title === '' ? objectId : title}</RowLink>
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
  return <Badge color={PUSH_COLORS[status] ?? 'gray'}>{nameIn(useTexts().pushes.statuses, status)}</Badge>;
}
