import { ActionIcon, Alert, Anchor, Burger, Button, Divider, Group, Kbd, Menu, Stack, Text } from '@mantine/core';
import { useDisclosure, useHotkeys } from '@mantine/hooks';
import { spotlight } from '@mantine/spotlight';
import { Link, Outlet, type ShouldBlockFn, useBlocker, useParams, useRouterState } from '@tanstack/react-router';
import { type ComponentType, type ReactNode, useEffect, useRef, useState, useSyncExternalStore } from 'react';
import { CallError, isOutdated, onUpgrade } from '../api/call';
import { useApplications, useMay } from '../api/queries';
import { Dialog, useNotices } from '../parts/dialogs';
import { isUnsaved } from '../parts/forms';
import { Bdi, Empty, Failure, Icon } from '../parts/panel';
import { visible } from '../parts/visible.rules';
import { useTexts } from '../texts/texts';
import { OF_APPLICATION, useAway, usePages } from './navigation';
import { OperatorMenu } from './operator-menu';

/** The frame around every page of a signed-in operator. */
export function Frame(): ReactNode {
  const t = useTexts();
  const [isMenuOpen, menu] = useDisclosure(false);
  const appId = useCurrentApp();
  useFocusOnNewPage(menu.close);
  const { search, Palette } = usePalette();
  useHotkeys([['mod+K', search]], []);
  return (
    <div className="frame">
      <Anchor href="#page-title" className="skip">
        {t.shell.skip}
      </Anchor>
      <header>
        <Group h="100%" justify="space-between" wrap="nowrap" gap="xs">
          <Group gap="xs" wrap="nowrap" miw={0}>
            <Burger
              opened={isMenuOpen}
              onClick={menu.toggle}
              hiddenFrom="sm"
              size="sm"
              aria-label={isMenuOpen ? t.shell.closeMenu : t.shell.openMenu}
            />
            <ApplicationMenu appId={appId} />
          </Group>
          <Group gap="xs" wrap="nowrap">
            <Button
              onClick={search}
              leftSection={<Icon name="search" size={16} />}
              rightSection={<Kbd size="xs">{t.shell.paletteKeys}</Kbd>}
              visibleFrom="sm"
            >
              {t.shell.search}
            </Button>
            <ActionIcon variant="default" size={30} hiddenFrom="sm" aria-label={t.shell.search} onClick={search}>
              <Icon name="search" size={16} />
            </ActionIcon>
            <OperatorMenu />
          </Group>
        </Group>
      </header>
      <nav aria-label={t.shell.pages} className={isMenuOpen ? 'open' : ''}>
        <Navigation appId={appId} />
      </nav>
      <main>
        <UpgradeNotice />
        <AwayNotice />
        <Outlet />
      </main>
      {Palette !== undefined && <Palette appId={appId} />}
      <LeaveDialog />
    </div>
  );
}

function usePalette() {
  const [loaded, setLoaded] = useState<{ readonly Palette: ComponentType<{ readonly appId: string | undefined }> }>();
  const { failed } = useNotices();
  const load = async () => {
    try {
      setLoaded(await import('./palette'));
    } catch {
      spotlight.close();
      failed(new CallError({}, 0));
    }
  };
  const search = () => {
    spotlight.open();
    if (loaded === undefined) void load();
  };
  return { search, Palette: loaded?.Palette };
}

/** The page of the old version stays until the operator leaves it: a form on it is not lost. */
function UpgradeNotice(): ReactNode {
  const t = useTexts();
  const isUpgraded = useSyncExternalStore(onUpgrade, isOutdated);
  return (
    <div role="status">
      {isUpgraded && (
        <Alert color="link" role="group" mb="sm" title={t.shell.newVersion}>
          {t.shell.newVersionSays}
        </Alert>
      )}
    </div>
  );
}

/** The page keeps its content and repeats its requests. */
function AwayNotice(): ReactNode {
  const { states: t } = useTexts();
  const path = useRouterState({ select: ({ matches }) => matches.at(-1)?.fullPath ?? '' });
  const service = OF_APPLICATION.find(({ to }) => path.startsWith(to))?.service;
  const isAway = useAway().includes(service ?? '');
  return (
    <div role="status">
      {isAway && (
        <Alert color="warning" role="group" mb="sm" icon={<Icon name="warning" />} title={t.away(service ?? '')}>
          {t.awaySays}
        </Alert>
      )}
    </div>
  );
}

/** Within a page its forms stay. */
const isLeft: ShouldBlockFn = ({ current, next }) => current.pathname !== next.pathname && isUnsaved();

/** Asks before a page is left whose changes are not saved; the browser asks where the whole document goes. */
function LeaveDialog(): ReactNode {
  const { states: t } = useTexts();
  const left = useBlocker({ shouldBlockFn: isLeft, enableBeforeUnload: isUnsaved, withResolver: true });
  if (left.status !== 'blocked') return null;
  return (
    <Dialog title={t.unsaved} onClose={left.reset}>
      <Stack gap="sm">
        <Text>{t.unsavedSays}</Text>
        <Group justify="flex-end">
          <Button onClick={left.reset} data-autofocus>
            {t.stay}
          </Button>
          <Button variant="filled" color="bad" onClick={left.proceed}>
            {t.leave}
          </Button>
        </Group>
      </Stack>
    </Dialog>
  );
}

function Navigation({ appId }: { readonly appId: string | undefined }): ReactNode {
  const t = useTexts();
  const { ofApplication, ofDeployment } = usePages(appId);
  const away = useAway();
  const link = (page: (typeof ofApplication | typeof ofDeployment)[number]) => (
    <Link key={page.to} to={page.to} params={{ appId: appId ?? '' }} className="page-link">
      <Icon name={page.icon} />
      {t.pages[page.name]}
      {away.some((each) => page.name === 'health' || each === page.service) && (
        <span className="dot" role="img" aria-label={t.states.isAway} />
      )}
    </Link>
  );
  return (
    <>
      {appId !== undefined && ofApplication.map(link)}
      {appId !== undefined && <Divider my="xs" />}
      {ofDeployment.map(link)}
    </>
  );
}

function ApplicationMenu({ appId }: { readonly appId: string | undefined }): ReactNode {
  const t = useTexts();
  const { data } = useApplications();
  const may = useMay('*');
  const name = data?.items.find(({ id }) => id === appId)?.name;
  return (
    <Menu position="bottom-start" width={260}>
      <Menu.Target>
        <Button
          variant="subtle"
          color="gray"
          c="inherit"
          px="xs"
          size="sm"
          rightSection={<Icon name="down" size={16} />}
          leftSection={<Icon name="application" />}
          aria-label={visible(t.shell.applications(name))}
          maw="min(22rem, 55vw)"
        >
          <Text fw={600} truncate component="bdi">
            {visible(name ?? appId ?? t.shell.product)}
          </Text>
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <div className="choices">
          {data?.items.map((application) => (
            <Menu.Item
              key={application.id}
              component={Link}
              to={`/apps/${application.id}/overview`}
              {...(application.id === appId ? { 'aria-current': 'true' } : {})}
              rightSection={application.id === appId && <Icon name="check" size={16} />}
            >
              <Bdi>{application.name}</Bdi>
            </Menu.Item>
          ))}
        </div>
        <Menu.Divider />
        <Menu.Item component={Link} to="/apps">
          {may('apps.create') ? t.shell.allAndNew : t.shell.all}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

const STORED = 'gatepost-app';

/** The application of the page, else the one that was looked at last. */
function useCurrentApp(): string | undefined {
  const { appId } = useParams({ strict: false });
  useEffect(() => {
    if (appId !== undefined) localStorage.setItem(STORED, appId);
  }, [appId]);
  const { data } = useApplications();
  const stored = localStorage.getItem(STORED);
  return appId ?? data?.items.find(({ id }) => id === stored)?.id ?? data?.items[0]?.id;
}

/** Moves the focus to the heading of a new page, as a document's load would. */
function useFocusOnNewPage(onNewPage: () => void): void {
  // The path of the page that is shown; the address changes before it.
  const path = useRouterState({ select: ({ resolvedLocation }) => resolvedLocation?.pathname });
  const shown = useRef(path);
  useEffect(() => {
    if (shown.current === path) return;
    shown.current = path;
    // The files of the page that was loaded may be gone: the next page is of the new version.
    if (isOutdated()) location.reload();
    onNewPage();
    document.querySelector<HTMLElement>('#page-title')?.focus({ preventScroll: true });
  }, [path, onNewPage]);
}

export function NotFound(): ReactNode {
  return <NoPage says={useTexts().states.noPageSays} />;
}

function NoPage({ says }: { readonly says: string }): ReactNode {
  const t = useTexts();
  return (
    <Empty title={t.states.noPage} says={says}>
      <Link to="/">{t.states.home}</Link>
    </Empty>
  );
}

/** The pages of an application. An id of none, or of one without a role for the operator, has no pages. */
export function OfApplication(): ReactNode {
  const { appId } = useParams({ strict: false });
  const { data } = useApplications();
  const isMissing = data?.items.every(({ id }) => id !== appId) === true;
  const { problems } = useTexts();
  return isMissing ? <NoPage says={problems.NOT_FOUND} /> : <Outlet />;
}

/** A page that failed to load: a new version of the console may have replaced it. */
export function PageProblem({ error }: { readonly error: unknown }): ReactNode {
  const t = useTexts();
  return (
    <Stack p="md" align="flex-start">
      <Failure error={error instanceof Error ? error : new Error(String(error))} />
      <Button variant="filled" onClick={() => location.reload()}>
        {t.states.reload}
      </Button>
    </Stack>
  );
}
