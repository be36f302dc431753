import {
  hashKey,
  QueryClient,
  type QueryKey,
  useMutation,
  type UseMutationResult,
  useQuery,
  useQueryClient,
  type UseQueryResult,
} from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import {
  consoleApi,
  type ConsoleRoute,
  type Permission,
  permissionsFor,
  type RouteReply,
  type Session,
  type Undo,
} from '#console-api';
import { knownZone } from '../parts/moments.rules';
import { call, CallError, type CallInput, OPERATOR } from './call';

const SECOND = 1_000;

function isWorthRepeating(failures: number, error: Error): boolean {
  return failures < 2 && error instanceof CallError && error.isPassing;
}

/** Every request is sent at once: a console on this computer needs no network, and an act may not wait until there is one. */
const ANY_NETWORK = { networkMode: 'always' } as const;

export function createQueryClient(): QueryClient {
  const queries = new QueryClient({
    defaultOptions: {
      queries: { ...ANY_NETWORK, refetchOnReconnect: true, staleTime: 5 * SECOND, retry: isWorthRepeating },
      mutations: ANY_NETWORK,
    },
  });
  queries.getQueryCache().subscribe(({ query }) => {
    const session = query.queryHash === SESSION_HASH ? (query.state.data as Session | undefined) : undefined;
    if (!session?.operator) return;
    lastSession = session;
    OPERATOR['X-Gatepost-Operator'] = session.operator.id;
  });
  return queries;
}

export const sessionQuery = {
  queryKey: ['/session'],
  queryFn: ({ signal }: { signal: AbortSignal }): Promise<Session> => call(consoleApi.getSession, {}, signal),
  staleTime: 60 * SECOND,
};

const SESSION_HASH = hashKey(sessionQuery.queryKey);
let lastSession: Session | undefined;

/** @returns the operator of the session, also once it is over; null where the page has known none */
export function knownOperator(): Session['operator'] {
  return lastSession?.operator ?? null;
}

/** A request of a reading route; what asks for it again within five seconds gets the same answer. */
export function readOf<R extends ConsoleRoute>(
  route: R,
  input: CallInput<R>,
): { queryKey: QueryKey; queryFn: (context: { signal: AbortSignal }) => Promise<RouteReply<R>> } {
  return { queryKey: [route.path, input], queryFn: ({ signal }) => call(route, input, signal) };
}

type Interval<Reply> = number | false | ((reply: Reply | undefined) => number);

/**
 * The state of a reading route. `everyMs`: asked again in this interval while the tab is visible; it may depend on the last answer. A read
 * that gets no answer is repeated in any case.
 */
export function useRead<R extends ConsoleRoute>(
  route: R,
  input: CallInput<R>,
  options: { readonly everyMs?: Interval<RouteReply<R>>; readonly enabled?: boolean } = {},
): UseQueryResult<RouteReply<R>> {
  const { everyMs = false, enabled = true } = options;
  const object = objectOf([route.path, input]);
  return useQuery<RouteReply<R>>({
    ...readOf(route, input),
    // A list keeps its rows until those of another filter are there. What belongs to another object is not shown.
    placeholderData: (shown, query) => (query !== undefined && objectOf(query.queryKey) === object ? shown : undefined),
    refetchInterval: ({ state }) => {
      const error = state.error instanceof CallError ? state.error : undefined;
      if (error?.isPassing === true) return Math.max(1, error.retryAfter ?? 5) * SECOND;
      // The operator has not signed in again: the next act, or a look at the page, asks once more.
      if (error?.status === 401) return false;
      return typeof everyMs === 'function' ? everyMs(state.data) : everyMs;
    },
    enabled,
  });
}

/** @returns what the path of a query names: its key without the filters */
function objectOf([path, input]: QueryKey): string {
  return hashKey([path, (input as { readonly params?: unknown } | undefined)?.params]);
}

/** A changing route: what the page shows is read again after it. */
export function useAct<R extends ConsoleRoute>(route: R): UseMutationResult<RouteReply<R>, Error, CallInput<R>> {
  return useChange((input: CallInput<R>) => call(route, input));
}

export function useUndo(): UseMutationResult<unknown, Error, Undo> {
  return useChange(({ action, ...input }: Undo) => call<ConsoleRoute>(consoleApi[action], input));
}

function useChange<Reply, Input>(mutationFn: (input: Input) => Promise<Reply>): UseMutationResult<Reply, Error, Input> {
  const queries = useQueryClient();
  return useMutation({
    mutationFn,
    // A success waits for the new state of the page, a failure is shown at once.
    onSettled: (_, error) => {
      const read = queries.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== '/session' });
      return error === null ? read : undefined;
    },
  });
}

/** The operator's session; pages inside the frame have one. Once it is over it is the last one: what they hold waits for a new sign-in. */
export function useSession(): Session {
  const { data } = useQuery(sessionQuery);
  if (data === undefined) throw new Error('the router reads the session before it shows a page');
  return data.operator === null && lastSession !== undefined ? lastSession : data;
}

/** The zone of the operator; undefined: that of the browser. */
export function useTimeZone(): string | undefined {
  return knownZone(useSession().operator?.timeZone);
}

/** The applications of the operator; none is asked for while the operator's role needs a second factor. */
export function useApplications(): UseQueryResult<RouteReply<typeof consoleApi.listApplications>> {
  const { needsSecondFactor } = useSession();
  return useRead(consoleApi.listApplications, {}, { enabled: !needsSecondFactor });
}

export function useApp(): { readonly appId: string; readonly may: (permission: Permission) => boolean } {
  const { appId = '' } = useParams({ strict: false });
  return { appId, may: useMay(appId) };
}

/** @returns whether the operator may call a route for the application of the page, without one for the deployment */
export function useMayCall({ access }: ConsoleRoute): boolean {
  const { appId = '*' } = useParams({ strict: false });
  const may = useMay(appId);
  return !access.includes('.') || may(access as Permission);
}

/** @returns whether the operator has a permission for the application, or with `*` for the deployment */
export function useMay(appId: string): (permission: Permission) => boolean {
  const { operator, needsSecondFactor } = useSession();
  const permissions = operator === null || needsSecondFactor ? [] : permissionsFor(operator, appId);
  return (permission) => permissions.includes(permission);
}
