import { Button, Group, NativeSelect, Stack, Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useHotkeys } from '@mantine/hooks';
import { useIsMutating, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { type ReactNode, useMemo, useState } from 'react';
import { consoleApi, type ListedUser, looksPersonal, USER_ORDERS } from '#console-api';
import { call } from '../api/call';
import { readOf, useAct, useApp, useRead, useTimeZone } from '../api/queries';
import { ActButton, AddButton, AskButton, FormDialog, useNotices } from '../parts/dialogs';
import {
  Choice,
  DayFilters,
  onText,
  optionsOf,
  PasswordField,
  Segments,
  UrlText,
  useUrlFilters,
} from '../parts/fields';
import { ExportMenu, SavedViews } from '../parts/list-menus';
import { momentsOf } from '../parts/moments.rules';
import { Answer, Checked, Empty, Icon, LockedBadge, Page, Panel, useProblem } from '../parts/panel';
import { type Column, DataTable, keptState, Pager, RowLink, useEmpty, useSelection } from '../table/data-table';
import { type Texts, useFormats, useTexts, When } from '../texts/texts';
import { ConditionFilter, FROM, useSearched } from './users-condition';

export function UsersPage(): ReactNode {
  const t = useTexts();
  const { may } = useApp();
  return (
    <Page
      title={t.pages.users}
      acts={
        <>
          <SavedViews page="users" />
          <ExportMenu route={consoleApi.exportUsers} query={useUserFilters()} />
          {may('users.write') && <AddButton text={t.users.create} dialog={<NewUser />} />}
        </>
      }
    >
      <Panel>
        <SearchBar />
        <Filters />
        {may('users.contact') && <ConditionFilter />}
        <UserList />
      </Panel>
    </Page>
  );
}

/** The text of the search field: of the URL, or of the history where it looks like an address or a number. */
function useSearchText() {
  const navigate = useNavigate({ from: '/apps/$appId/users' });
  const onChange = (text: string | undefined) => {
    const isPersonal = text !== undefined && looksPersonal(text);
    void navigate({
      search: (old) => ({ ...old, q: isPersonal ? undefined : text, after: undefined }),
      state: ({ where }) => keptState({ where, text: isPersonal ? text : undefined }),
      replace: true,
    });
  };
  return { value: useSearched().text, onChange };
}

function SearchBar(): ReactNode {
  const t = useTexts();
  const search = useSearch({ from: FROM });
  const { change, filter } = useUrlFilters(search);
  return (
    <Group gap="xs" align="flex-end">
      <UrlText
        label={t.users.search}
        placeholder={t.users.searchHint}
        leftSection={<Icon name="search" size={16} />}
        size="sm"
        type="search"
        className="grows"
        isLive
        {...useSearchText()}
      />
      <NativeSelect
        label={t.users.searchIn}
        value={search.in ?? 'any'}
        data={optionsOf(t.users.fields)}
        onChange={onText((field) => change({ in: field as NonNullable<typeof search.in> }))}
      />
      <Segments
        label={t.users.mode}
        options={optionsOf(t.users.modes)}
        {...filter('mode')}
        value={search.mode ?? 'prefix'}
      />
    </Group>
  );
}

/** The order by username reveals names, so it needs the permission to see contact data. */
function useOrder() {
  const { may } = useApp();
  const { order: asked } = useSearch({ from: FROM });
  const orders = USER_ORDERS.filter((each) => each !== 'username' || may('users.contact'));
  return { orders, order: orders.find((each) => each === asked) };
}

function Filters(): ReactNode {
  const t = useTexts();
  const search = useSearch({ from: FROM });
  const { change, filter } = useUrlFilters(search);
  const { orders, order } = useOrder();
  const { where } = useSearched();
  const { q: _q, in: _in, mode: _mode, order: _order, after: _after, ...filters } = search;
  const isFiltered = where !== '' || Object.values(filters).some((each) => each !== undefined);
  const choice = (name: 'emailVerified' | 'phoneVerified' | 'hasPassword') => (
    <Choice
      label={t.users[name]}
      value={search[name]?.toString()}
      options={optionsOf<string>({ true: t.common.yes, false: t.common.no })}
      onChange={(answer) => change({ [name]: answer && answer === 'true' })}
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
          {t.table.clearFilters}
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

function useUsersInput() {
  const { appId } = useApp();
  const { after: asked, order: askedOrder } = useSearch({ from: FROM });
  const { order } = useOrder();
  // The place of a page in one order is none in another.
  const after = order === askedOrder ? asked : undefined;
  return { params: { appId }, query: { ...useUserFilters(), after, order } };
}

function UserList(): ReactNode {
  const t = useTexts();
  const { number } = useFormats();
  const search = useSearch({ from: FROM });
  const { may } = useApp();
  const input = useUsersInput();
  const users = useRead(consoleApi.listUsers, input);
  const queries = useQueryClient();
  const columns = useUserColumns();
  const plain = <Empty title={t.users.none} says={t.users.noneSays} />;
  const empty = useEmpty(plain, ['any', undefined].includes(search.in) ? '' : t.users.notFoundSays);
  const [chosen, setChosen] = useSelection();
  return (
    <Answer of={users} lines={12}>
      {({ items, next, total }) => (
        <Stack gap="xs">
          <Text c="dimmed" role="status">
            {t.users.found(total.value, number(total.value), total.isExact)}
          </Text>
          <DataTable
            label={t.pages.users}
            columns={columns}
            rows={items}
            empty={empty}
            idOf={({ objectId }) => objectId}
            isOld={users.isPlaceholderData}
            selection={
              may('users.write') || may('users.delete') || may('users.export')
                ? { ids: chosen, change: setChosen, nameOf: ({ username, objectId }) => username ?? objectId }
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
          {chosen.size > 0 && <SelectionBar chosen={chosen} setChosen={setChosen} />}
        </Stack>
      )}
    </Answer>
  );
}

/** The columns of the list of users. They stay the same objects, so that rows are not drawn again. */
function useUserColumns(): readonly Column<ListedUser>[] {
  const t = useTexts();
  const { appId } = useApp();
  return useMemo(() => columnsOf(t, appId), [t, appId]);
}

function columnsOf(t: Texts, appId: string): readonly Column<ListedUser>[] {
  return [
    {
      header: t.users.fields.username,
      cell: ({ objectId, username }) => (
        <RowLink to={`/apps/${appId}/users/${encodeURIComponent(objectId)}`}>{username ?? objectId}</RowLink>
      ),
    },
    {
      header: t.users.fields.email,
      cell: ({ email, emailVerified }) => <Checked value={email} isVerified={emailVerified} />,
    },
    {
      header: t.users.fields.phone,
      from: 'md',
      cell: ({ mobilePhoneNumber, mobilePhoneVerified }) => (
        <Checked isNumber value={mobilePhoneNumber} isVerified={mobilePhoneVerified} />
      ),
    },
    {
      header: t.users.linked,
      from: 'lg',
      cell: ({ platforms }) => (platforms.length === 0 ? '–' : platforms.join(', ')),
    },
    { header: t.users.state, from: 'sm', cell: ({ lockedUntil }) => <LockedBadge until={lockedUntil} /> },
    { header: t.users.createdAt, from: 'sm', cell: ({ createdAt }) => <When at={createdAt} /> },
  ];
}

function NewUser(): ReactNode {
  const t = useTexts();
  const { appId } = useApp();
  const create = useAct(consoleApi.createUser);
  const navigate = useNavigate();
  const form = useForm({
    initialValues: { username: '', password: '', email: '', mobilePhoneNumber: '' },
    validate: {
      username: (value) => (value.trim() === '' ? t.access.nameWanted : null),
      password: (value) => (value === '' ? t.access.passwordWanted : null),
    },
  });
  const submit = async () => {
    const { username, password, email, mobilePhoneNumber } = form.getValues();
    const contacts = { ...(email !== '' && { email }), ...(mobilePhoneNumber !== '' && { mobilePhoneNumber }) };
    const { user } = await create.mutateAsync({ params: { appId }, body: { username, password, ...contacts } });
    await navigate({ to: '/apps/$appId/users/$userId', params: { appId, userId: user.objectId } });
  };
  return (
    <FormDialog title={t.users.create} form={form} submit={submit}>
      <TextInput label={t.users.fields.username} data-autofocus {...form.getInputProps('username')} />
      <PasswordField label={t.access.password} autoComplete="new-password" {...form.getInputProps('password')} />
      <TextInput label={t.users.fields.email} type="email" {...form.getInputProps('email')} />
      <TextInput label={t.users.fields.phone} type="tel" {...form.getInputProps('mobilePhoneNumber')} />
    </FormDialog>
  );
}

interface SelectionProps {
  readonly chosen: ReadonlySet<string>;
  readonly setChosen: (chosen: ReadonlySet<string>) => void;
}

function SelectionBar({ chosen, setChosen }: SelectionProps): ReactNode {
  const t = useTexts();
  const { appId, may } = useApp();
  const clear = () => setChosen(new Set());
  const isActing = useIsMutating() > 0;
  const leave = ({ target }: KeyboardEvent) => {
    // In a dialog or menu the key closes only that, perhaps before this function runs.
    const isWithin = target instanceof Element && target.closest('[role=dialog], [role=menu]') !== null;
    if (!isActing && !isWithin) clear();
  };
  useHotkeys([['Escape', leave]]);
  return (
    <Group gap="sm" className="selection" role="toolbar" aria-label={t.table.chosen(chosen.size)}>
      <Text fw={600}>{t.table.chosen(chosen.size)}</Text>
      <ExportMenu text={t.exports.beginChosen} route={consoleApi.exportUsers} query={{ ids: [...chosen].join(',') }} />
      {may('users.write') && <EachActs chosen={chosen} />}
      <ActButton
        text={t.users.deleteThem}
        title={t.users.deleteTitle(chosen.size)}
        says={t.users.deleteSays}
        button={t.acts.delete}
        typed={String(chosen.size)}
        route={consoleApi.deleteUsers}
        input={{ params: { appId }, body: { userIds: [...chosen] } }}
        done={({ deleted }) => t.users.deleted(deleted)}
        then={clear}
      />
      <Button onClick={clear}>{t.table.clear}</Button>
    </Group>
  );
}

const EACH_ACTS = { endSession: consoleApi.endUserSession, sendVerification: consoleApi.sendVerification } as const;
type EachAct = keyof typeof EACH_ACTS;
const EACH_ACT_NAMES = Object.keys(EACH_ACTS) as EachAct[];

/** Acts that the page asks for once for each user. A notice then says how many were refused, and why. */
function EachActs({ chosen }: Pick<SelectionProps, 'chosen'>): ReactNode {
  const { appId } = useApp();
  const t = useTexts();
  const problem = useProblem();
  const notices = useNotices();
  const queries = useQueryClient();
  const [progress, setProgress] = useState('');
  const run = async (name: EachAct) => {
    setProgress('');
    const refusals = await forEach(
      [...chosen],
      (userId) => call(EACH_ACTS[name], { params: { appId, userId } }),
      (settled) => setProgress(t.users.each.progress(settled, chosen.size)),
    );
    const reasons = countsOf(
      refusals.map(problem).map(({ text, detail = text }) => (text === t.states.refused ? detail : text)),
    );
    const refused = [...reasons].map(([reason, count]) => t.users.each.refused(count, reason));
    notices.outcome([t.users.each.done(chosen.size - refusals.length, chosen.size), ...refused].join(' '));
    await queries.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== '/session' });
  };
  return (
    <>
      {EACH_ACT_NAMES.map((name) => (
        <AskButton
          key={name}
          text={t.users.each[name]}
          title={t.users.each.title(t.users.each[name], chosen.size)}
          says={
            <>
              {t.users.each.says[name]} <span role="status">{progress}</span>
            </>
          }
          onConfirm={() => run(name)}
        />
      ))}
    </>
  );
}

const AT_ONCE = 4;

async function forEach(
  ids: readonly string[],
  act: (id: string) => Promise<unknown>,
  onSettled: (settled: number) => void,
): Promise<Error[]> {
  const refusals: Error[] = [];
  const waiting = ids.values();
  let settled = 0;
  const work = async () => {
    for (const id of waiting) {
      await act(id).catch((error: unknown) => refusals.push(error as Error));
      settled += 1;
      onSettled(settled);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return refusals;
}

function countsOf(texts: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  return counts;
}
