import { Group, NativeSelect, Stack, Text, TextInput } from '@mantine/core';
import { useHotkeys } from '@mantine/hooks';
import { useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { type ReactNode, useCallback, useRef } from 'react';
import { consoleApi, USER_ORDERS } from '#console-api';
import { readOf, useMay, useRead, useTimeZone } from '../api/queries';
import { AddButton } from '../parts/dialogs';
import { ExportMenu } from '../parts/export-menu';
import { Choice, DayFilters, filtersOf, onText, Segments, UrlText, useTyped } from '../parts/fields';
import { momentsOf } from '../parts/moments.rules';
import { Icon } from '../parts/icon';
import { Answer, Empty, Page, Panel } from '../parts/panel';
import { DataTable, keptState, Pager, useSelection } from '../table/data-table';
import { useFormats } from '../texts/format';
import { useTexts } from '../texts/texts';
import { NewUser } from './new-user';
import { useUserColumns } from './user-columns';
import { ConditionFilter, FROM, PERSONAL, useSearched } from './users-condition';
import { SelectionBar } from './users-selection';

export function UsersPage(): ReactNode {
  const t = useTexts();
  const { appId } = useParams({ from: FROM });
  const may = useMay(appId);
  return (
    <Page
      title={t.pages.users}
      acts={
        <>
          {may('users.export') && <ExportUsers appId={appId} />}
          {may('users.write') && (
            <AddButton text={t.users.create}>{(close) => <NewUser appId={appId} onClose={close} />}</AddButton>
          )}
        </>
      }
    >
      <Panel>
        <SearchBar />
        <Filters appId={appId} />
        {may('users.contact') && <ConditionFilter />}
        <UserList appId={appId} />
      </Panel>
    </Page>
  );
}

/** The text of the search field: typed here, else of the URL, or of the history where it looks like an address or a number. */
function useTypedSearch() {
  const navigate = useNavigate({ from: '/apps/$appId/users' });
  const store = useCallback(
    (text: string) => {
      const isPersonal = PERSONAL.test(text);
      void navigate({
        search: (old) => ({ ...old, q: text === '' || isPersonal ? undefined : text, after: undefined }),
        state: ({ where }) => keptState({ where, text: isPersonal ? text : undefined }),
        replace: true,
      });
    },
    [navigate],
  );
  return useTyped(useSearched().text, store);
}

/** Of the URL. A change leads to the first page and keeps what stands in the history. */
function useFilters() {
  const navigate = useNavigate({ from: '/apps/$appId/users' });
  const search = useSearch({ from: FROM });
  const change = (part: Partial<typeof search>) =>
    void navigate({ search: (old) => ({ ...old, ...part, after: undefined }), state: (old) => ({ ...old }) });
  return { search, change, filter: filtersOf(search, change) };
}

function SearchBar(): ReactNode {
  const t = useTexts();
  const { search, change, filter } = useFilters();
  const { text, type, send } = useTypedSearch();
  const field = useRef<HTMLInputElement>(null);
  useHotkeys([['mod+/', () => field.current?.focus()]]);
  return (
    <Group gap="xs" align="flex-end">
      <TextInput
        ref={field}
        label={t.users.search}
        placeholder={t.users.searchHint}
        leftSection={<Icon name="search" size={16} />}
        value={text}
        onChange={onText(type)}
        onBlur={send}
        type="search"
        className="grows"
      />
      <NativeSelect
        label={t.users.searchIn}
        value={search.in ?? 'any'}
        data={(['any', 'username', 'email', 'phone', 'id'] as const).map((value) => ({
          value,
          label: t.users.fields[value],
        }))}
        onChange={onText((field) => change({ in: field as NonNullable<typeof search.in> }))}
      />
      <Segments
        label={t.users.mode}
        options={[
          { value: 'prefix', label: t.users.beginsWith },
          { value: 'contains', label: t.users.contains },
        ]}
        {...filter('mode')}
        value={search.mode ?? 'prefix'}
      />
    </Group>
  );
}

/** By username only for operators who see all of them. */
function useOrder(appId: string) {
  const may = useMay(appId);
  const { order: asked } = useSearch({ from: FROM });
  const orders = USER_ORDERS.filter((each) => each !== 'username' || may('users.contact'));
  return { orders, order: orders.find((each) => each === asked) };
}

function Filters({ appId }: { readonly appId: string }): ReactNode {
  const t = useTexts();
  const { search, change, filter } = useFilters();
  const { orders, order } = useOrder(appId);
  const { where } = useSearched();
  const { q: _q, in: _in, mode: _mode, order: _order, after: _after, ...filters } = search;
  const isFiltered = where !== '' || Object.values(filters).some((each) => each !== undefined);
  const options = (['yes', 'no'] as const).map((value) => ({ value, label: t.common[value] }));
  const answerOf = (flag: boolean | undefined) =>
    flag === undefined ? undefined : options.find(({ value }) => (value === 'yes') === flag)?.value;
  const choice = (name: 'emailVerified' | 'phoneVerified' | 'hasPassword') => (
    <Choice
      label={t.users[name]}
      value={answerOf(search[name])}
      options={options}
      onChange={(answer) => change({ [name]: answer === undefined ? undefined : answer === 'yes' })}
    />
  );
  return (
    <Group gap="xs" align="flex-end">
      {choice('emailVerified')}
      {choice('phoneVerified')}
      {choice('hasPassword')}
      <UrlText label={t.users.platform} w="8rem" {...filter('platform')} />
      <DayFilters filter={filter} labels={t.users} />
      <NativeSelect
        label={t.users.order}
        size="xs"
        value={order ?? 'newest'}
        data={orders.map((value) => ({ value, label: t.users.orders[value] }))}
        onChange={onText((value) => change({ order: value as NonNullable<typeof search.order> }))}
      />
      {isFiltered && (
        <Link to="." search={{}} className="pager">
          {t.users.clear}
        </Link>
      )}
    </Group>
  );
}

function useUserFilters() {
  const { q: _q, after: _after, order: _order, since, until, ...filters } = useSearch({ from: FROM });
  const { text, where } = useSearched();
  const { from, to } = momentsOf({ since, until }, useTimeZone());
  return {
    ...filters,
    text: text === '' ? undefined : text,
    where: where === '' ? undefined : where,
    createdFrom: from,
    createdTo: to,
  };
}

function useUsersInput(appId: string) {
  const { after: asked, order: askedOrder } = useSearch({ from: FROM });
  const { order } = useOrder(appId);
  // The place of a page in one order is none in another.
  const after = order === askedOrder ? asked : undefined;
  return { params: { appId }, query: { ...useUserFilters(), after, order } };
}

function ExportUsers({ appId }: { readonly appId: string }): ReactNode {
  const filters = useUserFilters();
  return (
    <ExportMenu
      route={consoleApi.exportUsers}
      inputOf={(format) => ({ params: { appId }, query: { ...filters, format } })}
    />
  );
}

function UserList({ appId }: { readonly appId: string }): ReactNode {
  const t = useTexts();
  const { number } = useFormats();
  const search = useSearch({ from: FROM });
  const may = useMay(appId);
  const input = useUsersInput(appId);
  const users = useRead(consoleApi.listUsers, input);
  const queries = useQueryClient();
  const columns = useUserColumns(appId);
  const [chosen, setChosen] = useSelection();
  return (
    <Answer of={users} lines={12}>
      {({ items, next, total }) => (
        <Stack gap="xs">
          <Text size="sm" c="dimmed" role="status">
            {t.users.found(total.value, number(total.value), total.isExact)}
          </Text>
          <DataTable
            label={t.pages.users}
            columns={columns}
            rows={items}
            empty={<NoUsers />}
            idOf={({ objectId }) => objectId}
            isOld={users.isPlaceholderData}
            selection={
              may('users.write') || may('users.delete') || may('users.export')
                ? {
                    ids: chosen,
                    change: setChosen,
                    nameOf: ({ username, objectId }) => username ?? objectId,
                  }
                : undefined
            }
          />
          <Pager
            next={next}
            isFirst={search.after === undefined}
            onNear={() => {
              const query = { ...input.query, after: next ?? undefined };
              void queries.query(readOf(consoleApi.listUsers, { ...input, query })).catch(() => undefined);
            }}
          />
          {chosen.size > 0 && <SelectionBar appId={appId} chosen={chosen} setChosen={setChosen} />}
        </Stack>
      )}
    </Answer>
  );
}

function NoUsers(): ReactNode {
  const t = useTexts();
  const search = useSearch({ from: FROM });
  const { text, where } = useSearched();
  const isSearched = text !== '' || where !== '' || Object.keys(search).some((name) => name !== 'order');
  if (!isSearched) return <Empty title={t.users.none} says={t.users.noneSays} />;
  return (
    <Empty title={t.users.notFound} says={search.in === undefined || search.in === 'any' ? '' : t.users.notFoundSays}>
      <Link to="." search={{}}>
        {t.users.clear}
      </Link>
    </Empty>
  );
}
