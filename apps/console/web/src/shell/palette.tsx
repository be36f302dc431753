import { useDebouncedValue } from '@mantine/hooks';
import { Spotlight, type SpotlightActionGroupData } from '@mantine/spotlight';
import { useQueries } from '@tanstack/react-query';
import { useNavigate, useRouter } from '@tanstack/react-router';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { consoleApi, type ConsoleRoute } from '#console-api';
import { readOf, useApplications, useMay, useRead } from '../api/queries';
import { Icon } from '../parts/panel';
import { visible } from '../parts/visible.rules';
import { useTexts } from '../texts/texts';
import { usePages } from './navigation';

const FOUND_USERS = 5;
const SEARCHED_LENGTH = 2;
const TYPING_MS = 150;

/** Ctrl+K: pages, applications, users of the application by what their name, address or number begins with, and objects by their id. */
export function Palette({ appId }: { readonly appId: string | undefined }): ReactNode {
  const t = useTexts();
  const [text, setText] = useState('');
  const pages = usePageActions(appId);
  const [settled] = useDebouncedValue(text.trim(), TYPING_MS);
  const users = useUserActions(appId, settled);
  const objects = useObjectActions(appId, settled);
  const field = useRef<HTMLInputElement>(null);
  // The palette selects the first action as the operator types; users arrive later.
  useEffect(() => {
    const isNoneSelected = field.current?.closest('[role=dialog]')?.querySelector('[data-selected]') === null;
    if (users.length + objects.length > 0 && isNoneSelected)
      field.current?.dispatchEvent(new KeyboardEvent('keydown', { code: 'ArrowDown', bubbles: true }));
  }, [users, objects]);
  return (
    <Spotlight
      title={t.shell.search}
      classNames={{ header: 'unseen' }}
      actions={[...pages, ...users, ...objects]}
      query={text}
      onQueryChange={setText}
      nothingFound={t.shell.nothingFound}
      limit={12}
      shortcut={null}
      searchProps={{
        ref: field,
        placeholder: t.shell.searchHint,
        'aria-label': t.shell.search,
        leftSection: <Icon name="search" />,
      }}
    />
  );
}

function usePageActions(appId: string | undefined): SpotlightActionGroupData[] {
  const t = useTexts();
  const navigate = useNavigate();
  const { ofApplication, ofDeployment } = usePages(appId);
  const { data } = useApplications();
  return [
    {
      group: t.shell.pages,
      actions: [...ofApplication, ...ofDeployment].map(({ name, to, icon }) => ({
        id: to,
        label: t.pages[name],
        leftSection: <Icon name={icon} />,
        onClick: () => void navigate({ to, params: { appId: appId ?? '' } }),
      })),
    },
    {
      group: t.shell.applicationsTitle,
      actions: (data?.items ?? []).map(({ id, name }) => ({
        id: `app ${id}`,
        label: visible(name),
        description: id,
        keywords: [name],
        leftSection: <Icon name="application" />,
        onClick: () => void navigate({ to: '/apps/$appId/overview', params: { appId: id } }),
      })),
    },
  ];
}

function useUserActions(appId: string | undefined, text: string): SpotlightActionGroupData[] {
  const t = useTexts();
  const navigate = useNavigate();
  const may = useMay(appId ?? '');
  const isAsked = appId !== undefined && text.length >= SEARCHED_LENGTH && may('users.read');
  const input = { params: { appId: appId ?? '' }, query: { text, limit: FOUND_USERS } };
  const { data, isPlaceholderData } = useRead(consoleApi.listUsers, input, { enabled: isAsked });
  if (!isAsked || data === undefined || isPlaceholderData) return [];
  return [
    {
      group: t.pages.users,
      actions: data.items.map(({ objectId, username, email, mobilePhoneNumber }) => ({
        id: `user ${objectId}`,
        label: visible(username ?? objectId),
        description: visible([email, mobilePhoneNumber].filter((each) => each !== null).join(' · ')),
        // The server has found it: the palette's own filter must not take it away again.
        keywords: [text, objectId],
        leftSection: <Icon name="user" />,
        onClick: () => void navigate({ to: '/apps/$appId/users/$userId', params: { appId, userId: objectId } }),
      })),
    },
  ];
}

const OBJECTS = [
  ['roles', consoleApi.getRole, 'roleId'],
  ['devices', consoleApi.getDevice, 'deviceId'],
  ['pushes', consoleApi.getPush, 'pushId'],
] as const;
const ID = /^[0-9a-f]{24}$/;

/** The role, the device and the push with a pasted id; most have none. */
function useObjectActions(appId = '', id: string): SpotlightActionGroupData[] {
  const t = useTexts();
  const { history } = useRouter();
  const may = useMay(appId);
  const isAsked = appId !== '' && ID.test(id);
  const answers = useQueries({
    queries: OBJECTS.map(([kind, route, param]) => ({
      ...readOf<ConsoleRoute>(route, { params: { appId, [param]: id } }),
      enabled: isAsked && may(`${kind}.read`),
    })),
  });
  return OBJECTS.flatMap(([kind], place) => {
    if (!isAsked || answers[place]?.data === undefined) return [];
    const onClick = () => history.push(`/apps/${appId}/${kind}/${id}`);
    const action = { id: `${kind} ${id}`, label: id, leftSection: <Icon name={kind} />, onClick };
    return [{ group: t.pages[kind], actions: [action] }];
  });
}
