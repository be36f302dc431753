import { Badge, Code, Group, Stack, Text } from '@mantine/core';
import { Link, useSearch } from '@tanstack/react-router';
import { type ReactNode, Suspense, useState } from 'react';
import { type AuditEntry, consoleApi, type ConsoleRoute, type RouteReply } from '#console-api';
import type { CallInput } from '../api/call';
import { useMay, useRead, useTimeZone } from '../api/queries';
import { ActButton } from '../parts/dialogs';
import { Choice, DayFilters, nameIn, optionsOf, type TextFilter, UrlText, useUrlFilters } from '../parts/fields';
import { ExportMenu } from '../parts/list-menus';
import { momentsOf } from '../parts/moments.rules';
import { Bdi, Empty, Page, Panel } from '../parts/panel';
import { visible } from '../parts/visible.rules';
import { DataTable, List } from '../table/data-table';
import { tagOf, useActions, useLanguage, useTexts, When } from '../texts/texts';

const FROM = '/frame/audit';
const COLORS: Readonly<Record<AuditEntry['outcome'], string>> = {
  begun: 'link',
  done: 'good',
  refused: 'warning',
  failed: 'bad',
  unknown: 'warning',
};

export function AuditPage(): ReactNode {
  const t = useTexts();
  const search = useSearch({ from: FROM });
  const { operator, app, after, open, since, until, ...chosen } = search;
  const timeZone = useTimeZone();
  const { filter } = useUrlFilters(search);
  const filters = { ...chosen, ...momentsOf({ since, until }, timeZone), operatorId: operator, appId: app };
  return (
    <Page title={t.pages.audit} acts={<ExportMenu route={consoleApi.exportAudit} query={filters} />}>
      <Panel>
        <Group gap="xs" align="flex-end">
          <Suspense>
            <ActionFilter {...filter('action')} />
          </Suspense>
          <UrlText label={t.audit.target} {...filter('target')} />
          <UrlText label={t.audit.application} {...filter('app')} />
          <Choice label={t.audit.outcome} options={optionsOf(t.audit.outcomes)} {...filter('outcome')} />
          <OperatorFilter {...filter('operator')} />
          <DayFilters filter={filter} />
        </Group>
        <AuditList key={open} query={{ ...filters, after }} opened={open} hasPager />
      </Panel>
    </Page>
  );
}

function OperatorFilter(filter: TextFilter): ReactNode {
  const t = useTexts();
  const enabled = useMay('*')('operators.write');
  const { data } = useRead(consoleApi.listOperators, {}, { enabled });
  if (data === undefined) return null;
  return (
    <Choice
      label={t.audit.operator}
      options={data.items.map(({ id, name }) => ({ value: id, label: visible(name) }))}
      {...filter}
    />
  );
}

function ActionFilter(filter: TextFilter): ReactNode {
  const t = useTexts();
  const { language } = useLanguage();
  const names = useActions();
  const actions = Object.keys(names).sort((a, b) => nameIn(names, a).localeCompare(nameIn(names, b), tagOf(language)));
  const unknown = filter.value === undefined || filter.value in names ? [] : [filter.value];
  return (
    <Choice
      label={t.audit.action}
      options={[...unknown, ...actions].map((action) => ({ value: action, label: nameIn(names, action) }))}
      {...filter}
    />
  );
}

interface AuditListProps {
  readonly query: NonNullable<CallInput<typeof consoleApi.listAudit>['query']>;
  /** Absent: the first page, with a link to the whole log. */
  readonly hasPager?: boolean;
  readonly opened?: string | undefined;
}

function AuditList(props: AuditListProps): ReactNode {
  return (
    <Suspense>
      <Entries {...props} />
    </Suspense>
  );
}

function Entries({ query, hasPager = false, opened }: AuditListProps): ReactNode {
  const t = useTexts();
  const actions = useActions();
  const entries = useRead(consoleApi.listAudit, { query });
  const [chosen, setChosen] = useState<string | null>();
  const open = chosen === undefined ? opened : chosen;
  return (
    <>
      <List
        label={t.pages.audit}
        of={entries}
        idOf={({ id }) => id}
        empty={<Empty title={t.audit.none} />}
        detailsOf={(entry) => open === entry.id && <Details entry={entry} />}
        {...(hasPager ? { page: query } : {})}
        columns={[
          {
            header: t.audit.action,
            cell: (entry) => (
              <button
                type="button"
                className="link"
                aria-expanded={open === entry.id}
                onClick={() => setChosen(open === entry.id ? null : entry.id)}
              >
                {nameIn(actions, entry.action)}
              </button>
            ),
          },
          { header: t.audit.operator, cell: ({ operatorName }) => <Bdi>{operatorName}</Bdi> },
          {
            header: t.audit.outcome,
            cell: ({ outcome }) => <Badge color={COLORS[outcome]}>{t.audit.outcomes[outcome]}</Badge>,
          },
          { header: t.audit.application, from: 'md', cell: ({ appId }) => appId ?? '–' },
          { header: t.audit.target, from: 'lg', cell: ({ target }) => <Bdi>{target ?? '–'}</Bdi> },
          { header: t.audit.at, from: 'sm', cell: ({ begunAt }) => <When at={begunAt} /> },
        ]}
      />
      {!hasPager && typeof entries.data?.next === 'string' && (
        <Link to="/audit" search={{ app: query.appId, target: query.target }}>
          {t.audit.all}
        </Link>
      )}
    </>
  );
}

/** The acts on an object, or the last ones on an application. */
export function History({ title, query }: Pick<AuditListProps, 'query'> & { readonly title?: string }): ReactNode {
  const t = useTexts();
  const { appId = '' } = query;
  const isPartial = !useMay(appId)('platforms.write');
  return (
    <Panel title={title ?? t.user.tabs.history}>
      {isPartial && <Text c="dimmed">{t.audit.ownOnly}</Text>}
      <AuditList query={query} />
    </Panel>
  );
}

function Details({ entry }: { readonly entry: ListedEntry }): ReactNode {
  const t = useTexts();
  const { undo } = entry;
  return (
    <Stack gap={4} fz="sm">
      <Text>
        {t.audit.ways[entry.way]} · {entry.network ?? '–'} · <When at={entry.begunAt} isFull />
      </Text>
      {entry.errorName !== null && <Text>{t.audit.error(entry.errorName)}</Text>}
      {entry.target !== null && (
        <Text>
          <Bdi>{t.audit.targetIs(entry.target)}</Bdi>
        </Text>
      )}
      <Changes entry={entry} />
      {entry.isUndone && <Text>{t.audit.isUndone}</Text>}
      {undo && (
        <Group>
          <ActButton<ConsoleRoute>
            text={t.acts.undo}
            route={consoleApi[undo.action]}
            input={undo}
            done={() => t.acts.undone}
            then={() => document.querySelector<HTMLElement>('.link[aria-expanded=true]')?.focus()}
          />
        </Group>
      )}
      <Text>
        {t.states.request} <Code>{entry.requestId}</Code>
      </Text>
      <Link to="/audit" search={{ open: entry.id, after: placeBefore(entry) }}>
        {t.audit.link}
      </Link>
    </Stack>
  );
}

function placeBefore({ begunAt, id }: AuditEntry): string {
  return `${new Date(Date.parse(begunAt) + 1).toISOString()},${id}`;
}

type ListedEntry = RouteReply<typeof consoleApi.listAudit>['items'][number];
type Values = Readonly<Record<string, unknown>>;

/** The new values by the names of the former ones. Conditions of the act are none. */
function newValues({ change }: AuditEntry): Values {
  const { former: _, updatedAt: __, changes, operations, permission, ...rest } = change;
  const fields = typeof changes === 'object' && changes !== null ? (changes as Values) : {};
  const permissions = Array.isArray(operations) ? operations.map((each) => [String(each), permission]) : [];
  return { ...rest, ...fields, ...(Object.fromEntries(permissions) as Values) };
}

function Changes({ entry }: { readonly entry: AuditEntry }): ReactNode {
  const t = useTexts();
  const after = newValues(entry);
  const before = entry.before ?? {};
  // An act reads more than it changes.
  const changed = Object.keys(after).filter((name) => name in before);
  const names = new Set([...Object.keys(after), ...(changed.length > 0 ? [] : Object.keys(before))]);
  if (names.size === 0) return null;
  return (
    <DataTable
      label={t.audit.changes}
      rows={[...names]}
      idOf={(name) => name}
      columns={[
        { header: t.audit.field, cell: (name) => name },
        { header: t.audit.before, cell: (name) => textOf(before[name]) },
        { header: t.audit.after, cell: (name) => textOf(after[name]) },
      ]}
    />
  );
}

function textOf(value: unknown): ReactNode {
  if (value === undefined) return '–';
  return <Bdi className="wrap">{typeof value === 'string' ? value : JSON.stringify(value, undefined, 2)}</Bdi>;
}
