import { Group, Stack, Table } from '@mantine/core';
import type { UseQueryResult } from '@tanstack/react-query';
import { type HistoryState, Link, useLocation, useRouter, useSearch } from '@tanstack/react-router';
import { Fragment, memo, type MouseEvent, type ReactNode, useState } from 'react';
import { Answer, Bdi, Empty, Icon } from '../parts/panel';
import { visible } from '../parts/visible.rules';
import { useTexts } from '../texts/texts';

export interface Column<Row> {
  readonly header: string;
  readonly cell: (row: Row) => ReactNode;
  /** The narrowest screen that shows the column; absent: every screen. */
  readonly from?: 'sm' | 'md' | 'lg';
  readonly isNumber?: boolean;
}

interface DataTableProps<Row> {
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly idOf: (row: Row) => string;
  /** The rows are of an earlier question, whose answer is under way. */
  readonly isOld?: boolean;
  /** In place of a table without rows. */
  readonly empty?: ReactNode;
  readonly detailsOf?: (row: Row) => ReactNode;
  readonly selection?:
    | {
        readonly ids: ReadonlySet<string>;
        readonly change: (ids: ReadonlySet<string>) => void;
        readonly nameOf: (row: Row) => string;
      }
    | undefined;
}

/** The table of every list. The first column names the row. Columns that stay the same objects spare drawing the rows again. */
export function DataTable<Row>(props: DataTableProps<Row>): ReactNode {
  const { label, columns, rows, idOf, isOld = false, empty, selection } = props;
  const t = useTexts();
  if (empty !== undefined && rows.length === 0) return empty;
  const areAllChosen = selection !== undefined && rows.length > 0 && rows.every((row) => selection.ids.has(idOf(row)));
  return (
    <div className="scroll" role="region" aria-label={label} tabIndex={0}>
      <Table highlightOnHover verticalSpacing={6} aria-busy={isOld} className={isOld ? 'old' : ''} aria-label={label}>
        <Table.Thead>
          <Table.Tr>
            {selection !== undefined && (
              <Table.Th className="narrow">
                <input
                  type="checkbox"
                  className="choice"
                  aria-label={t.table.all}
                  checked={areAllChosen}
                  onChange={() => selection.change(new Set(areAllChosen ? [] : rows.map(idOf)))}
                />
              </Table.Th>
            )}
            {columns.map(({ header, from, isNumber = false }) => (
              <Table.Th
                key={header}
                scope="col"
                {...(from === undefined ? {} : { visibleFrom: from })}
                className={isNumber ? 'number' : ''}
              >
                {header}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Rows {...props} />
      </Table>
    </div>
  );
}

/**
 * The rows, as plain elements: a page has hundreds of cells. They are drawn again for other rows, columns and choices, but not while the
 * next ones are under way. What names a row and changes the choice does so for the same rows.
 */
const Rows = memo(
  PlainRows,
  (old, now) => old.rows === now.rows && old.columns === now.columns && old.selection?.ids === now.selection?.ids,
) as typeof PlainRows;

function PlainRows<Row>({ columns, rows, idOf, detailsOf, selection }: DataTableProps<Row>): ReactNode {
  const t = useTexts();
  const detailed = (row: Row) => {
    const details = detailsOf?.(row);
    return (
      Boolean(details) && (
        <tr>
          <td colSpan={columns.length}>{details}</td>
        </tr>
      )
    );
  };
  return (
    <tbody className="rows">
      {rows.map((row) => (
        <Fragment key={idOf(row)}>
          <tr className={selection?.ids.has(idOf(row)) === true ? 'chosen' : ''}>
            {selection !== undefined && (
              <td>
                <input
                  type="checkbox"
                  className="choice"
                  aria-label={t.table.one(visible(selection.nameOf(row)))}
                  checked={selection.ids.has(idOf(row))}
                  onChange={() => selection.change(toggled(selection.ids, idOf(row)))}
                />
              </td>
            )}
            {columns.map(({ header, cell, from, isNumber = false }, place) => {
              const Cell = place === 0 ? 'th' : 'td';
              return (
                <Cell key={header} className={classesOf(from, isNumber)} {...(place === 0 ? { scope: 'row' } : {})}>
                  {shown(cell(row))}
                </Cell>
              );
            })}
          </tr>
          {detailed(row)}
        </Fragment>
      ))}
    </tbody>
  );
}

function shown(cell: ReactNode): ReactNode {
  return typeof cell === 'string' ? visible(cell) : cell;
}

/** A link in a row. The router's own observes each change of the address, which takes long fifty times in a list. */
export function RowLink({ to, children }: { readonly to: string; readonly children: string }): ReactNode {
  const router = useRouter();
  const open = (event: MouseEvent) => {
    if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    router.history.push(to);
  };
  return (
    <a href={to} onClick={open} onPointerEnter={() => void router.preloadRoute({ to: to.replace(/\?.*/, '') })}>
      <Bdi>{children}</Bdi>
    </a>
  );
}

const NONE: ReadonlySet<string> = new Set();

/** The ids that are chosen: a selection belongs to one page of one question, of which the history alone may have a part. */
export function useSelection(): [ReadonlySet<string>, (ids: ReadonlySet<string>) => void] {
  const page = useLocation({ select: ({ searchStr, state }) => `${searchStr} ${JSON.stringify(keptState(state))}` });
  const [selection, setSelection] = useState<{ readonly page: string; readonly ids: ReadonlySet<string> }>();
  const choose = (ids: ReadonlySet<string>) => setSelection({ page, ids });
  return [selection?.page === page ? selection.ids : NONE, choose];
}

function classesOf(from: Column<unknown>['from'], isNumber: boolean): string {
  return [...(from === undefined ? [] : [`mantine-visible-from-${from}`]), ...(isNumber ? ['number'] : [])].join(' ');
}

function toggled(ids: ReadonlySet<string>, id: string): ReadonlySet<string> {
  const next = new Set(ids);
  if (!next.delete(id)) next.add(id);
  return next;
}

interface ListProps<Row> extends Omit<DataTableProps<Row>, 'isOld' | 'rows'> {
  readonly of: UseQueryResult<{ readonly items: readonly Row[]; readonly next?: string | null }>;
  /** The place of the page in the URL; absent: the list has one page. */
  readonly page?: { readonly after?: string | undefined };
  readonly lines?: number;
}

/** Members of a list's URL that hide no row. */
const NO_FILTERS = new Set(['after', 'connected', 'order', 'in', 'mode']);

/** @returns what stands in place of a list without rows: with filters, the way to all rows. @param hint for a list with filters */
export function useEmpty(plain: ReactNode, hint = ''): ReactNode {
  const t = useTexts();
  const search = useSearch({ strict: false });
  const isKept = useLocation({ select: ({ state }) => state.text !== undefined || state.where !== undefined });
  const given = Object.entries(search).filter(([name, value]) => !NO_FILTERS.has(name) && value !== undefined);
  if (!isKept && given.length === 0) return plain;
  return (
    <Empty title={t.table.notFound} says={hint}>
      <Link to="." search={{}}>
        {t.table.clearFilters}
      </Link>
    </Empty>
  );
}

export function List<Row>({ of, page, lines = 6, empty: plain, ...table }: ListProps<Row>): ReactNode {
  const filtered = useEmpty(plain);
  const empty = page === undefined ? plain : filtered;
  return (
    <Answer of={of} lines={lines}>
      {({ items, next = null }) => (
        <Stack gap="xs">
          <DataTable {...table} empty={empty} rows={items} isOld={of.isPlaceholderData} />
          {page !== undefined && <Pager next={next} isFirst={page.after === undefined} />}
        </Stack>
      )}
    </Answer>
  );
}

interface PagerProps {
  /** The place of the next page, null on the last one. */
  readonly next: string | null;
  readonly isFirst: boolean;
  readonly onNear?: () => void;
}

/** The state of the tab can have the text of the search and a condition. */
export const keptState = ({ text, where }: Partial<Record<'text' | 'where', string | undefined>>): HistoryState => ({
  ...(text === undefined ? {} : { text }),
  ...(where === undefined ? {} : { where }),
});

/** Links to the first and to the next page; the way back is the browser's. */
export function Pager({ next, isFirst, onNear }: PagerProps): ReactNode {
  const t = useTexts();
  if (next === null && isFirst) return null;
  return (
    <Group component="nav" aria-label={t.table.pages} gap="md" fz="sm">
      {!isFirst && (
        <Link to="." search={(old) => ({ ...old, after: undefined })} state={keptState} className="pager">
          <Icon name="left" size={16} />
          {t.table.first}
        </Link>
      )}
      {next !== null && (
        <Link
          to="."
          search={(old) => ({ ...old, after: next })}
          state={keptState}
          className="pager"
          rel="next"
          onPointerEnter={onNear}
          onFocus={onNear}
        >
          {t.table.next}
          <Icon name="right" size={16} />
        </Link>
      )}
    </Group>
  );
}
