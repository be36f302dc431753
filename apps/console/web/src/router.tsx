import type { QueryClient } from '@tanstack/react-query';
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
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
/** Makes the schema of a page's URL when the page is opened: to make all of them takes a slow processor as long as a page. */
function searchOf<Search>(schema: () => z.ZodMiniType<Search>): (search: Record<string, unknown>) => Search {
  let made: z.ZodMiniType<Search> | undefined;
  return (search) => (made ??= schema()).parse(search);
}

const signIn = createRoute({
  getParentRoute: () => root,
  path: '/sign-in',
  validateSearch: searchOf(() => z.object({ to: text() })),
  component: lazyRouteComponent(() => import('./pages/access'), 'SignInPage'),
});
const links = (['/set-up', '/invitation', '/recover'] as const).map((path) =>
  createRoute({
    getParentRoute: () => root,
    path,
    component: lazyRouteComponent(() => import('./pages/access'), 'LinkPage'),
  }),
);

const finish = createRoute({
  getParentRoute: () => root,
  path: '/api/oidc/callback',
  component: lazyRouteComponent(() => import('./pages/issuer'), 'FinishPage'),
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

const home = createRoute({
  getParentRoute: () => frame,
  path: '/',
  component: lazyRouteComponent(() => import('./pages/applications'), 'HomePage'),
});
const applications = createRoute({
  getParentRoute: () => frame,
  path: '/apps',
  component: lazyRouteComponent(() => import('./pages/applications'), 'ApplicationsPage'),
});
const app = createRoute({ getParentRoute: () => frame, path: '/apps/$appId' });
const overview = createRoute({
  getParentRoute: () => app,
  path: '/overview',
  component: lazyRouteComponent(() => import('./pages/overview'), 'OverviewPage'),
});
const users = createRoute({
  getParentRoute: () => app,
  path: '/users',
  validateSearch: searchOf(() =>
    z.extend(page(), {
      q: text(),
      in: oneOf('any', 'username', 'email', 'phone', 'id'),
      mode: oneOf('prefix', 'contains'),
      emailVerified: flag(),
      phoneVerified: flag(),
      hasPassword: flag(),
      platform: text(),
      where: text(),
      since: maybe(z.iso.date()),
      until: maybe(z.iso.date()),
      order: oneOf('newest', 'oldest', 'username'),
    }),
  ),
  component: lazyRouteComponent(() => import('./pages/users'), 'UsersPage'),
});
const limits = createRoute({
  getParentRoute: () => app,
  path: '/limits',
  validateSearch: searchOf(page),
  component: lazyRouteComponent(() => import('./pages/limits'), 'LimitsPage'),
});
const user = createRoute({
  getParentRoute: () => app,
  path: '/users/$userId',
  validateSearch: searchOf(() =>
    z.object({
      tab: oneOf('profile', 'access', 'accounts', 'messages', 'devices', 'history'),
    }),
  ),
  component: lazyRouteComponent(() => import('./pages/user'), 'UserPage'),
});
const roles = createRoute({
  getParentRoute: () => app,
  path: '/roles',
  validateSearch: searchOf(() => z.extend(page(), { q: text() })),
  component: lazyRouteComponent(() => import('./pages/roles'), 'RolesPage'),
});
const role = createRoute({
  getParentRoute: () => app,
  path: '/roles/$roleId',
  component: lazyRouteComponent(() => import('./pages/roles'), 'RolePage'),
});
const devices = createRoute({
  getParentRoute: () => app,
  path: '/devices',
  validateSearch: searchOf(() => z.extend(page(), { type: text(), channel: text(), user: text(), connected: flag() })),
  component: lazyRouteComponent(() => import('./pages/devices'), 'DevicesPage'),
});
const device = createRoute({
  getParentRoute: () => app,
  path: '/devices/$deviceId',
  component: lazyRouteComponent(() => import('./pages/devices'), 'DevicePage'),
});
const pushes = createRoute({
  getParentRoute: () => app,
  path: '/pushes',
  validateSearch: searchOf(() =>
    z.extend(page(), {
      status: oneOf('scheduled', 'in-queue', 'done', 'error'),
    }),
  ),
  component: lazyRouteComponent(() => import('./pages/pushes'), 'PushesPage'),
});
const newPush = createRoute({
  getParentRoute: () => app,
  path: '/pushes/new',
  component: lazyRouteComponent(() => import('./pages/new-push'), 'NewPushPage'),
});
const push = createRoute({
  getParentRoute: () => app,
  path: '/pushes/$pushId',
  component: lazyRouteComponent(() => import('./pages/push'), 'PushPage'),
});
const messages = createRoute({
  getParentRoute: () => app,
  path: '/messages',
  validateSearch: searchOf(() =>
    z.extend(page(), {
      status: oneOf('queued', 'failed', 'sent', 'dead', 'dropped'),
      channel: oneOf('mail', 'sms'),
      kind: text(),
      since: maybe(z.iso.date()),
      until: maybe(z.iso.date()),
      user: text(),
    }),
  ),
  component: lazyRouteComponent(() => import('./pages/messages'), 'MessagesPage'),
});
const message = createRoute({
  getParentRoute: () => app,
  path: '/messages/$messageId',
  component: lazyRouteComponent(() => import('./pages/messages'), 'MessagePage'),
});
const templates = createRoute({
  getParentRoute: () => app,
  path: '/templates',
  component: lazyRouteComponent(() => import('./pages/templates'), 'TemplatesPage'),
});
const template = createRoute({
  getParentRoute: () => app,
  path: '/templates/$kind/$language',
  component: lazyRouteComponent(() => import('./pages/templates'), 'TemplatePage'),
});
const permissions = createRoute({
  getParentRoute: () => app,
  path: '/permissions',
  component: lazyRouteComponent(() => import('./pages/permissions'), 'PermissionsPage'),
});
const settings = createRoute({
  getParentRoute: () => app,
  path: '/settings',
  validateSearch: searchOf(() =>
    z.object({
      tab: oneOf('general', 'keys', 'platforms', 'texts', 'vendors'),
    }),
  ),
  component: lazyRouteComponent(() => import('./pages/settings'), 'SettingsPage'),
});
const health = createRoute({
  getParentRoute: () => frame,
  path: '/health',
  component: lazyRouteComponent(() => import('./pages/health'), 'HealthPage'),
});
const audit = createRoute({
  getParentRoute: () => frame,
  path: '/audit',
  validateSearch: searchOf(() =>
    z.extend(page(), {
      operator: text(),
      app: text(),
      action: text(),
      target: text(),
      open: text(),
      since: maybe(z.iso.date()),
      until: maybe(z.iso.date()),
      outcome: oneOf('begun', 'done', 'refused', 'failed', 'unknown'),
    }),
  ),
  component: lazyRouteComponent(() => import('./pages/audit'), 'AuditPage'),
});
const operators = createRoute({
  getParentRoute: () => frame,
  path: '/operators',
  component: lazyRouteComponent(() => import('./pages/operators'), 'OperatorsPage'),
});
const profile = createRoute({
  getParentRoute: () => frame,
  path: '/profile',
  component: lazyRouteComponent(() => import('./pages/profile'), 'ProfilePage'),
});

const routes = root.addChildren([
  signIn,
  ...links,
  finish,
  frame.addChildren([
    home,
    applications,
    app.addChildren([
      overview,
      users,
      limits,
      user,
      roles,
      role,
      devices,
      device,
      pushes,
      newPush,
      push,
      messages,
      message,
      templates,
      template,
      permissions,
      settings,
    ]),
    health,
    audit,
    operators,
    profile,
  ]),
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
