import { type ConsoleRouteName, NOT_SERVED, type Permission } from '#console-api';
import { useMay, useSession } from '../api/queries';
import type { IconName } from '../parts/icon';
import type { Texts } from '../texts/texts';

interface NavigationItem<To extends string> {
  readonly name: keyof Texts['pages'];
  readonly to: To;
  readonly icon: IconName;
  /** What the page reads. */
  readonly reads: ConsoleRouteName;
  /** Absent: every operator sees it. */
  readonly permission?: Permission;
}

const item = <To extends string>(
  name: keyof Texts['pages'],
  to: To,
  icon: IconName,
  needs: Pick<NavigationItem<To>, 'reads' | 'permission'>,
): NavigationItem<To> => ({ name, to, icon, ...needs });

const OF_APPLICATION = [
  item('overview', '/apps/$appId/overview', 'overview', { reads: 'getApplication', permission: 'settings.read' }),
  item('users', '/apps/$appId/users', 'users', { reads: 'listUsers', permission: 'users.read' }),
  item('roles', '/apps/$appId/roles', 'roles', { reads: 'listRoles', permission: 'roles.read' }),
  item('devices', '/apps/$appId/devices', 'devices', { reads: 'listDevices', permission: 'devices.read' }),
  item('pushes', '/apps/$appId/pushes', 'pushes', { reads: 'listPushes', permission: 'pushes.read' }),
  item('messages', '/apps/$appId/messages', 'mails', { reads: 'listMessages', permission: 'messages.read' }),
  item('templates', '/apps/$appId/templates', 'templates', { reads: 'listTemplates', permission: 'settings.read' }),
  item('permissions', '/apps/$appId/permissions', 'permissions', {
    reads: 'getApplication',
    permission: 'settings.read',
  }),
  item('settings', '/apps/$appId/settings', 'settings', { reads: 'getApplication', permission: 'settings.read' }),
] as const;

const OF_DEPLOYMENT = [
  item('health', '/health', 'health', { reads: 'getHealth', permission: 'health.read' }),
  item('audit', '/audit', 'audit', { reads: 'listAudit' }),
  item('operators', '/operators', 'operators', { reads: 'listOperators', permission: 'operators.write' }),
] as const;

/** @returns whether the server handles the route */
export function isServed(name: ConsoleRouteName): boolean {
  return !NOT_SERVED.has(name);
}

/** The pages that the operator may open. */
export function usePages(appId: string | undefined): {
  readonly ofApplication: readonly (typeof OF_APPLICATION)[number][];
  readonly ofDeployment: readonly (typeof OF_DEPLOYMENT)[number][];
} {
  const mayHere = useMay(appId ?? '');
  const mayAnywhere = useMay('*');
  const { operator } = useSession();
  return {
    ofApplication: OF_APPLICATION.filter(
      ({ permission, reads }) => isServed(reads) && (permission === undefined || mayHere(permission)),
    ),
    ofDeployment: OF_DEPLOYMENT.filter(
      ({ permission, reads }) =>
        operator !== null && isServed(reads) && (permission === undefined || mayAnywhere(permission)),
    ),
  };
}
