import { Badge, Group, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { consoleApi, type UserDetails } from '#console-api';
import { useAct, useMay } from '../api/queries';
import { AclPanel } from '../parts/acl-editor';
import { useNotices } from '../parts/dialogs';
import { Panel } from '../parts/panel';
import { useTexts } from '../texts/texts';
import { valuesOf } from './user-profile.rules';

/** Roles and access list of a user. */
export function AccessForm({ appId, user }: { readonly appId: string; readonly user: UserDetails }): ReactNode {
  const t = useTexts();
  const may = useMay(appId);
  const notices = useNotices();
  const change = useAct(consoleApi.changeUser);
  const params = { appId, userId: user.objectId };
  const save = async (ACL: Record<string, unknown>, base: UserDetails) => {
    const { user: saved } = await change.mutateAsync({ params, body: { updatedAt: base.updatedAt, changes: { ACL } } });
    notices.undoable(t.acts.saved, () =>
      change.mutateAsync({ params, body: { updatedAt: saved.updatedAt, changes: valuesOf(base, ['ACL']) } }),
    );
    return saved;
  };
  return (
    <Stack>
      <Panel title={t.pages.roles}>
        {user.roles.length === 0 ? (
          <Text size="sm">{t.user.noRoles}</Text>
        ) : (
          <Group gap="xs">
            {user.roles.map((role) => (
              <Badge key={role}>{role}</Badge>
            ))}
          </Group>
        )}
      </Panel>
      <AclPanel
        stored={user}
        isReadOnly={!may('users.acl')}
        isPending={change.isPending}
        error={change.error}
        save={save}
        onDiscard={change.reset}
      />
    </Stack>
  );
}
