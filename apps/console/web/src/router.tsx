import type { QueryClient } from '@tanstack/react-query';
import {
  type AnyRoute,
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent as lazy,
  Outlet,
  redirect,
} from '@tanstack/react-router';
// `zod` itself would try to generate code, which the page's content security policy forbids.
import { z } from 'zod/mini';
import { consoleApi } from '#console-api';
import { call } from './api/call';
import { sessionQuery } from './api/queries';
import { Frame, NotFound, OfApplication, PageProblem } from './shell/frame';

const root = createRootRouteWithContext<{ readonly queries: QueryClient }>()({
  component: Outlet,
  notFoundComponent: NotFound,
});

/** A value of another kind in a URL is left out. */
const maybe = <Schema extends z.ZodMiniType>(schema: Schema) => z.catch(z.optional(schema), undefined);
const oneOf = <const Values extends readonly string[]>(...values: Values) => maybe(z.enum(values));
const text = () => maybe(z.string());
const flag = () => maybe(z.boolean());
const listed = () => z.object({ after: text() });
const days = () => ({ since: maybe(z.iso.date()), until: maybe(z.iso.date()) });

const signInSearch = () => z.object({ to: text() });
const userSearch = () =>
  z.extend(listed(), {
    q: text(),
    in: oneOf('any', 'username', 'email', 'phone', 'id'),
    mode: oneOf('prefix', 'contains'),
    emailVerified: flag(),
    phoneVerified: flag(),
    hasPassword: flag(),
    platform: text(),
    where: text(),
    ...days(),
    order: oneOf('newest', 'oldest', 'username'),
  });
const userTab = () => z.object({ tab: oneOf('profile', 'access', 'accounts', 'messages', 'devices', 'history') });
const found = () => z.extend(listed(), { q: text() });
const deviceSearch = () => z.extend(listed(), { type: text(), channel: text(), user: text(), connected: flag() });
const pushSearch = () => z.extend(listed(), { status: oneOf('scheduled', 'in-queue', 'done', 'error') });
const draftSearch = () => z.object({ from: text() });
const messageSearch = () =>
  z.extend(listed(), {
    status: oneOf('queued', 'failed', 'sent', 'dead', 'dropped'),
    channel: oneOf('mail', 'sms'),
    kind: text(),
    ...days(),
    user: text(),
  });
const settingsTab = () => z.object({ tab: oneOf('general', 'keys', 'platforms', 'texts', 'vendors') });
const auditSearch = () =>
  z.extend(listed(), {
    operator: text(),
    app: text(),
    action: text(),
    target: text(),
    open: text(),
    ...days(),
    outcome: oneOf('begun', 'done', 'refused', 'failed', 'unknown'),
  });

/** Makes the schema of a page's URL when the page is opened: to make all of them takes a slow processor as long as a page. */
function searchOf<Search>(schema: () => z.ZodMiniType<Search>): (search: Record<string, unknown>) => Search {
  let made: z.ZodMiniType<Search> | undefined;
  return (search) => (made ??= schema()).parse(search);
}

/** The router reloads the document for a file that is gone, such as of an earlier version; a console that is away would be gone, too. */
async function unlessAway(error: unknown): Promise<never> {
  await call(consoleApi.getSession, {});
  throw error;
}

const plain = (): z.ZodMiniType<object> => z.object({});
/** @param search the schema of what the page's URL has besides the path */
const page = <
  Parent extends AnyRoute,
  const Path extends string,
  Module extends Record<string, unknown>,
  Search = object,
>(
  [parent, path]: readonly [Parent, Path],
  load: () => Promise<Module>,
  name: keyof Module,
  search: () => z.ZodMiniType<Search> = plain as () => z.ZodMiniType<Search>,
) => {
  const component = lazy(() => load().catch(unlessAway), name);
  return createRoute({ getParentRoute: () => parent, path, component, validateSearch: searchOf(search) });
};

const signIn = page([root, '/sign-in'], () => import('./pages/access'), 'SignInPage', signInSearch);
const links = (['/set-up', '/invitation', '/recover'] as const).map((path) =>
  page([root, path], () => import('./pages/access'), 'LinkPage'),
);
const finish = page([root, '/api/oidc/callback'], () => import('./pages/access'), 'FinishPage');

const frame = createRoute({
  getParentRoute: () => root,
  id: 'frame',
  component: Frame,
  beforeLoad: async ({ context, location }) => {
    const { operator, needsSecondFactor } = await context.queries.query({ ...sessionQuery, staleTime: 'static' });
    const isLocked = needsSecondFactor && location.pathname !== '/profile';
    if (operator !== null && !isLocked) return;
    // oxlint-disable-next-line typescript/only-throw-error -- the router's own way
    throw operator === null
      ? redirect({ to: '/sign-in', search: { to: location.href } })
      : redirect({ to: '/profile' });
  },
});

const app = createRoute({ getParentRoute: () => frame, path: '/apps/$appId', component: OfApplication });

const ofApplication = [
  page([app, '/overview'], () => import('./pages/overview'), 'OverviewPage'),
  page([app, '/users'], () => import('./pages/users'), 'UsersPage', userSearch),
  page([app, '/limits'], () => import('./pages/limits'), 'LimitsPage', listed),
  page([app, '/users/$userId'], () => import('./pages/user'), 'UserPage', userTab),
  page([app, '/roles'], () => import('./pages/roles'), 'RolesPage', found),
  page([app, '/roles/$roleId'], () => import('./pages/roles'), 'RolePage', found),
  page([app, '/devices'], () => import('./pages/devices'), 'DevicesPage', deviceSearch),
  page([app, '/devices/$deviceId'], () => import('./pages/devices'), 'DevicePage'),
  page([app, '/pushes'], () => import('./pages/pushes'), 'PushesPage', pushSearch),
  page([app, '/pushes/new'], () => import('./pages/new-push'), 'NewPushPage', draftSearch),
  page([app, '/pushes/$pushId'], () => import('./pages/push'), 'PushPage'),
  page([app, '/messages'], () => import('./pages/messages'), 'MessagesPage', messageSearch),
  page([app, '/messages/$messageId'], () => import('./pages/messages'), 'MessagePage'),
  page([app, '/templates'], () => import('./pages/templates'), 'TemplatesPage'),
  page([app, '/templates/$kind/$language'], () => import('./pages/templates'), 'TemplatePage'),
  page([app, '/permissions'], () => import('./pages/permissions'), 'PermissionsPage'),
  page([app, '/settings'], () => import('./pages/settings'), 'SettingsPage', settingsTab),
] as const;

const ofDeployment = [
  page([frame, '/'], () => import('./pages/applications'), 'HomePage'),
  page([frame, '/apps'], () => import('./pages/applications'), 'ApplicationsPage'),
  page([frame, '/health'], () => import('./pages/health'), 'HealthPage'),
  page([frame, '/audit'], () => import('./pages/audit'), 'AuditPage', auditSearch),
  page([frame, '/operators'], () => import('./pages/operators'), 'OperatorsPage'),
  page([frame, '/profile'], () => import('./pages/profile'), 'ProfilePage'),
] as const;

const routes = root.addChildren([
  signIn,
  ...links,
  finish,
  frame.addChildren([...ofDeployment, app.addChildren(ofApplication)]),
]);

/** Every state of a page is a URL; `context.queries` holds the session that the frame asks for. */
// The type is the router's own, from all routes.
// eslint-disable-next-line @typescript-eslint/explicit-module-boundary-types -- links are typed by it
export const createConsoleRouter = (queries: QueryClient) =>
  createRouter({
    routeTree: routes,
    context: { queries },
    defaultPreload: 'intent',
    defaultErrorComponent: PageProblem,
    scrollRestoration: true,
  });

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof createConsoleRouter>;
  }
  interface HistoryState {
    /** A search text that looks like an address or a number: it stands in no URL. */
    text?: string;
    where?: string;
  }
}
