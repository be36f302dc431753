import { consoleApi, type Permission } from '#console-api';
import { useMay, useRead, useSession } from '../api/queries';
import type { IconName } from '../parts/panel';
import type { Texts } from '../texts/texts';

interface NavigationItem<To extends string> {
  readonly name: keyof Texts['pages'];
  readonly to: To;
  readonly icon: IconName;
  /** Absent: every operator sees it. */
  readonly permission?: Permission;
  /** The service that answers the requests of the page. */
  readonly service?: string;
}

const item = <To extends string>(
  name: keyof Texts['pages'],
  to: To,
  icon: IconName,
  needs: Pick<NavigationItem<To>, 'permission' | 'service'> = {},
): NavigationItem<To> => ({ name, to, icon, ...needs });

export const OF_APPLICATION = [
  item('overview', '/apps/$appId/overview', 'overview', { permission: 'settings.read' }),
  item('users', '/apps/$appId/users', 'users', { permission: 'users.read', service: 'accounts' }),
  item('roles', '/apps/$appId/roles', 'roles', { permission: 'roles.read', service: 'accounts' }),
  item('devices', '/apps/$appId/devices', 'devices', { permission: 'devices.read', service: 'push-delivery' }),
  item('pushes', '/apps/$appId/pushes', 'pushes', { permission: 'pushes.read', service: 'push-delivery' }),
  item('messages', '/apps/$appId/messages', 'mails', { permission: 'messages.read', service: 'mail' }),
  item('templates', '/apps/$appId/templates', 'templates', { permission: 'settings.read', service: 'mail' }),
  item('permissions', '/apps/$appId/permissions', 'permissions', { permission: 'settings.read', service: 'accounts' }),
  item('limits', '/apps/$appId/limits', 'lock', { permission: 'users.read', service: 'accounts' }),
  item('settings', '/apps/$appId/settings', 'settings', { permission: 'settings.read', service: 'accounts' }),
] as const;

const OF_DEPLOYMENT = [
  item('health', '/health', 'health', { permission: 'health.read' }),
  item('audit', '/audit', 'audit'),
  item('operators', '/operators', 'operators', { permission: 'operators.write' }),
] as const;

const AWAY_EVERY_MS = 15_000;

export function useAway(): readonly string[] {
  const enabled = useMay('*')('health.read');
  return useRead(consoleApi.getHealth, {}, { enabled, everyMs: AWAY_EVERY_MS }).data?.silent ?? [];
}

export function usePages(appId: string | undefined): {
  readonly ofApplication: readonly (typeof OF_APPLICATION)[number][];
  readonly ofDeployment: readonly (typeof OF_DEPLOYMENT)[number][];
} {
  const mayHere = useMay(appId ?? '');
  const mayAnywhere = useMay('*');
  const { operator, needsSecondFactor } = useSession();
  return {
    ofApplication: OF_APPLICATION.filter(({ permission }) => permission === undefined || mayHere(permission)),
    ofDeployment: OF_DEPLOYMENT.filter(
      ({ permission }) =>
        operator !== null && !needsSecondFactor && (permission === undefined || mayAnywhere(permission)),
    ),
  };
}
