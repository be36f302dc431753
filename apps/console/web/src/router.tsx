import type { QueryClient } from '@tanstack/react-query';
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent as lazy,
  Outlet,
  redirect,
} from '@tanstack/react-router';
// `zod` itself would try to generate code, which the page's content security policy forbids.
import { z } from 'zod/mini';
import { sessionQuery } from './api/queries';
import { Frame } from './shell/frame';
import { NotFound, PageProblem } from './shell/problems';

const root = createRootRouteWithContext<{ readonly queries: QueryClient }>()({
  component: Outlet,
  notFoundComponent: NotFound,
});

/** A value of another kind in a URL is left out. */
const maybe = <Schema extends z.ZodMiniType>(schema: Schema) => z.catch(z.optional(schema), undefined);
const oneOf = <const Values extends readonly string[]>(...values: Values) => maybe(z.enum(values));
const text = () => maybe(z.string());
const flag = () => maybe(z.boolean());
const page = () => z.object({ after: text() });
const days = () => ({ since: maybe(z.iso.date()), until: maybe(z.iso.date()) });

/** Makes the schema of a page's URL when the page is opened: to make all of them takes a slow processor as long as a page. */
function searchOf<Search>(schema: () => z.ZodMiniType<Search>): (search: Record<string, unknown>) => Search {
  let made: z.ZodMiniType<Search> | undefined;
  return (search) => (made ??= schema()).parse(search);
}

const plain = (): z.ZodMiniType<object> => z.object({});
/** @param schema of what a page's URL has besides the path */
const at = <Parent, const Path extends string, Search = object>(
  parent: Parent,
  path: Path,
  schema: () => z.ZodMiniType<Search> = plain as () => z.ZodMiniType<Search>,
) => ({ getParentRoute: () => parent, path, validateSearch: searchOf(schema) });

const signIn = createRoute({
  ...at(root, '/sign-in', () => z.object({ to: text() })),
  component: lazy(() => import('./pages/access'), 'SignInPage'),
});
const links = (['/set-up', '/invitation', '/recover'] as const).map((path) =>
  createRoute({ ...at(root, path), component: lazy(() => import('./pages/access'), 'LinkPage') }),
);

const finish = createRoute({
  ...at(root, '/api/oidc/callback'),
  component: lazy(() => import('./pages/issuer'), 'FinishPage'),
});

/** The frame around the pages of an operator who is signed in. */
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

const app = createRoute(at(frame, '/apps/$appId'));

const ofApplication = [
  createRoute({ ...at(app, '/overview'), component: lazy(() => import('./pages/overview'), 'OverviewPage') }),
  createRoute({
    ...at(app, '/users', () =>
      z.extend(page(), {
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
      }),
    ),
    component: lazy(() => import('./pages/users'), 'UsersPage'),
  }),
  createRoute({ ...at(app, '/limits', page), component: lazy(() => import('./pages/limits'), 'LimitsPage') }),
  createRoute({
    ...at(app, '/users/$userId', () =>
      z.object({ tab: oneOf('profile', 'access', 'accounts', 'messages', 'devices', 'history') }),
    ),
    component: lazy(() => import('./pages/user'), 'UserPage'),
  }),
  createRoute({
    ...at(app, '/roles', () => z.extend(page(), { q: text() })),
    component: lazy(() => import('./pages/roles'), 'RolesPage'),
  }),
  createRoute({
    ...at(app, '/roles/$roleId'),
    validateSearch: searchOf(() => z.extend(page(), { q: text() })),
    component: lazy(() => import('./pages/roles'), 'RolePage'),
  }),
  createRoute({
    ...at(app, '/devices', () => z.extend(page(), { type: text(), channel: text(), user: text(), connected: flag() })),
    component: lazy(() => import('./pages/devices'), 'DevicesPage'),
  }),
  createRoute({ ...at(app, '/devices/$deviceId'), component: lazy(() => import('./pages/devices'), 'DevicePage') }),
  createRoute({
    ...at(app, '/pushes', () => z.extend(page(), { status: oneOf('scheduled', 'in-queue', 'done', 'error') })),
    component: lazy(() => import('./pages/pushes'), 'PushesPage'),
  }),
  createRoute({
    ...at(app, '/pushes/new', () => z.object({ from: text() })),
    component: lazy(() => import('./pages/new-push'), 'NewPushPage'),
  }),
  createRoute({ ...at(app, '/pushes/$pushId'), component: lazy(() => import('./pages/push'), 'PushPage') }),
  createRoute({
    ...at(app, '/messages', () =>
      z.extend(page(), {
        status: oneOf('queued', 'failed', 'sent', 'dead', 'dropped'),
        channel: oneOf('mail', 'sms'),
        kind: text(),
        ...days(),
        user: text(),
      }),
    ),
    component: lazy(() => import('./pages/messages'), 'MessagesPage'),
  }),
  createRoute({ ...at(app, '/messages/$messageId'), component: lazy(() => import('./pages/messages'), 'MessagePage') }),
  createRoute({ ...at(app, '/templates'), component: lazy(() => import('./pages/templates'), 'TemplatesPage') }),
  createRoute({
    ...at(app, '/templates/$kind/$language'),
    component: lazy(() => import('./pages/templates'), 'TemplatePage'),
  }),
  createRoute({ ...at(app, '/permissions'), component: lazy(() => import('./pages/permissions'), 'PermissionsPage') }),
  createRoute({
    ...at(app, '/settings', () => z.object({ tab: oneOf('general', 'keys', 'platforms', 'texts', 'vendors') })),
    component: lazy(() => import('./pages/settings'), 'SettingsPage'),
  }),
] as const;

const ofDeployment = [
  createRoute({ ...at(frame, '/'), component: lazy(() => import('./pages/applications'), 'HomePage') }),
  createRoute({ ...at(frame, '/apps'), component: lazy(() => import('./pages/applications'), 'ApplicationsPage') }),
  createRoute({ ...at(frame, '/health'), component: lazy(() => import('./pages/health'), 'HealthPage') }),
  createRoute({
    ...at(frame, '/audit', () =>
      z.extend(page(), {
        operator: text(),
        app: text(),
        action: text(),
        target: text(),
        open: text(),
        ...days(),
        outcome: oneOf('begun', 'done', 'refused', 'failed', 'unknown'),
      }),
    ),
    component: lazy(() => import('./pages/audit'), 'AuditPage'),
  }),
  createRoute({ ...at(frame, '/operators'), component: lazy(() => import('./pages/operators'), 'OperatorsPage') }),
  createRoute({ ...at(frame, '/profile'), component: lazy(() => import('./pages/profile'), 'ProfilePage') }),
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
    /** A condition on users, likewise. */
    where?: string;
  }
}
