import { Button, Menu, useMantineColorScheme } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { type ReactNode, useEffect, useRef } from 'react';
import { consoleApi, LANGUAGES, type Session, THEMES } from '#console-api';
import { call, CallError, type CallInput } from '../api/call';
import { sessionQuery, useSession } from '../api/queries';
import { useNotices } from '../parts/dialogs';
import { isUnsaved } from '../parts/forms';
import { Bdi, Icon, type IconName } from '../parts/panel';
import { type Language, lookKey, preferredLanguage, useLanguage } from '../texts/texts';
import { preferredTheme } from '../theme';

const LANGUAGE_NAMES: Readonly<Record<Language, string>> = { en: 'English', zh: '中文' };
const THEME_ICONS: Readonly<Record<(typeof THEMES)[number], IconName>> = { auto: 'system', light: 'sun', dark: 'moon' };

export function OperatorMenu(): ReactNode {
  const { texts: t } = useLanguage();
  const { operator } = useSession();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const { failed } = useNotices();
  useStoredLook();
  const times = useRef(0);
  const signOut = async () => {
    const time = (times.current += 1);
    // Another page asks whether the operator leaves what is not saved.
    if (isUnsaved()) await navigate({ to: '/' });
    if (isUnsaved() || time !== times.current) return;
    // The page that is shown reads the session until another one is.
    queries.setQueryData(sessionQuery.queryKey, await call(consoleApi.signOut, {}).catch(endedSession));
    await navigate({ to: '/sign-in' });
    queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== '/session' });
  };
  return (
    <Menu position="bottom-end" width={220}>
      <Menu.Target>
        <Button variant="subtle" color="gray" c="inherit" px="xs" aria-label={t.shell.you(operator?.name ?? '')}>
          <Icon name="user" />
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>
          <Bdi>{operator?.name}</Bdi>
        </Menu.Label>
        <Menu.Item component={Link} to="/profile" leftSection={<Icon name="user" size={16} />}>
          {t.pages.profile}
        </Menu.Item>
        <LookItems />
        <Menu.Divider />
        <Menu.Item leftSection={<Icon name="signOut" size={16} />} onClick={() => void signOut().catch(failed)}>
          {t.shell.signOut}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

/** Signing out of a session that has ended succeeds. @throws the error of another failure */
async function endedSession(error: unknown): Promise<Session> {
  const session =
    error instanceof CallError && error.status === 401 ? await call(consoleApi.getSession, {}) : undefined;
  if (session?.operator === null) return session;
  throw error;
}

/** Language and theme of the operator, where this computer has no choice. */
function useStoredLook(): void {
  const { operator } = useSession();
  const { language, choose } = useLanguage();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  useEffect(() => {
    if (language !== preferredLanguage()) choose(preferredLanguage());
    setColorScheme(preferredTheme());
  }, [operator, language, colorScheme, choose, setColorScheme]);
}

type Look = Pick<NonNullable<CallInput<typeof consoleApi.changeMe>['body']>, 'language' | 'theme'>;

/** @returns a function that stores a choice on this computer and, with a session, for the operator on all computers */
function useStoreLook(): (look: Look) => void {
  const queries = useQueryClient();
  const { failed } = useNotices();
  return (look) => {
    for (const [name, value] of Object.entries(look)) localStorage.setItem(lookKey(name), String(value));
    const operator = queries.getQueryData<Session>(sessionQuery.queryKey)?.operator ?? null;
    if (operator === null) return;
    call(consoleApi.changeMe, { body: look }).then(
      (changed) => queries.setQueryData(sessionQuery.queryKey, changed),
      failed,
    );
  };
}

/** Language and theme; both are stored on this computer at once, and for the operator. */
export function LookItems(): ReactNode {
  const { texts: t, language, choose } = useLanguage();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const store = useStoreLook();
  const item = (look: Look, [text, icon, isChosen]: readonly [string, IconName, boolean], apply: () => void) => (
    <Menu.Item
      key={text}
      role="menuitemradio"
      aria-checked={isChosen}
      lang={look.language ?? undefined}
      leftSection={<Icon name={icon} size={16} />}
      rightSection={isChosen && <Icon name="check" size={16} />}
      onClick={() => {
        apply();
        store(look);
      }}
    >
      {text}
    </Menu.Item>
  );
  return (
    <>
      <Menu.Label>{t.shell.language}</Menu.Label>
      {LANGUAGES.map((each) =>
        item({ language: each }, [LANGUAGE_NAMES[each], 'language', each === language], () => choose(each)),
      )}
      <Menu.Label>{t.shell.theme}</Menu.Label>
      {THEMES.map((each) =>
        item({ theme: each }, [t.shell.themes[each], THEME_ICONS[each], each === colorScheme], () =>
          setColorScheme(each),
        ),
      )}
    </>
  );
}
