import { Badge, Button, Group, Stack, Text } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { consoleApi, type UserDetails } from '#console-api';
import { useAct, useMay } from '../api/queries';
import { AclEditor } from '../parts/acl-editor';
import { useNotices } from '../parts/dialogs';
import { Failure, Panel } from '../parts/panel';
import { useTexts } from '../texts/texts';
import { valuesOf } from './user-profile.rules';

/** Roles and access list of a user. */
export function AccessForm({ appId, user }: { readonly appId: string; readonly user: UserDetails }): ReactNode {
  const t = useTexts();
  const may = useMay(appId);
  const notices = useNotices();
  const change = useAct(consoleApi.changeUser);
  const params = { appId, userId: user.objectId };
  const [acl, setAcl] = useState<Record<string, unknown>>();
  const save = async (ACL: Record<string, unknown>) => {
    const { user: saved } = await change.mutateAsync({ params, body: { updatedAt: user.updatedAt, changes: { ACL } } });
    notices.undoable(t.acts.saved, () =>
      change.mutateAsync({ params, body: { updatedAt: saved.updatedAt, changes: valuesOf(user, ['ACL']) } }),
    );
    setAcl(undefined);
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
      <Panel title={t.acl.title}>
        <AclEditor value={acl ?? user.ACL ?? {}} onChange={setAcl} isReadOnly={!may('users.acl')} />
        {change.error !== null && <Failure error={change.error} />}
        {acl !== undefined && (
          <Group gap="xs">
            <Button
              loading={change.isPending}
              onClick={() => {
                save(acl).catch(() => undefined);
              }}
            >
              {t.acts.save}
            </Button>
            <Button
              variant="default"
              onClick={() => {
                setAcl(undefined);
              }}
            >
              {t.acts.discard}
            </Button>
          </Group>
        )}
      </Panel>
    </Stack>
  );
}
