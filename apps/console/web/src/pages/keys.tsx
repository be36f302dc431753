import { Badge, Checkbox, Code, Group, NativeSelect, Stack, Text } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { type ApplicationDetails, consoleApi } from '#console-api';
import { useAct, useApp } from '../api/queries';
import { ActButton, DialogButton, FormDialog, useNotices } from '../parts/dialogs';
import { onText } from '../parts/fields';
import { Copyable, Panel } from '../parts/panel';
import { DataTable } from '../table/data-table';
import { When } from '../texts/format';
import { useTexts } from '../texts/texts';

export interface ApplicationProps {
  readonly application: ApplicationDetails;
}

/** The keys of an application. The master key is not among the answers of the server: the command line shows it. */
export function KeysTab({ application }: ApplicationProps): ReactNode {
  const t = useTexts();
  const may = useApp().may('keys.rotate');
  const { appKey, masterKeyId, masterKeyCommand } = application;
  return (
    <Stack>
      <Panel title={t.keys.appKey}>
        <Text>{t.keys.appKeySays}</Text>
        <Copyable value={appKey} />
      </Panel>
      <Panel title={t.keys.masterKey}>
        <Text>{t.keys.masterKeySays}</Text>
        <Group gap="lg" fz="sm">
          <span>
            {t.keys.shortId} <Code>{masterKeyId}</Code>
          </span>
          <Copyable value={masterKeyCommand} />
        </Group>
      </Panel>
      {application.oldKeys.length > 0 && <OldKeys application={application} />}
      {may && (
        <Group>
          <DialogButton text={t.keys.rotate} dialog={<RotateDialog appId={application.id} />} />
        </Group>
      )}
    </Stack>
  );
}

function OldKeys({ application }: ApplicationProps): ReactNode {
  const t = useTexts();
  const may = useApp().may('keys.rotate');
  const hasOld = (wanted: 'app' | 'master') => application.oldKeys.some(({ kind }) => kind === wanted);
  return (
    <Panel title={t.keys.old}>
      <DataTable
        label={t.keys.old}
        rows={application.oldKeys}
        idOf={({ kind, replacedAt }) => `${kind} ${replacedAt}`}
        columns={[
          { header: t.keys.kind, cell: ({ kind }) => <Badge>{t.keys.kinds[kind]}</Badge> },
          { header: t.keys.replaced, cell: ({ replacedAt }) => <When at={replacedAt} /> },
          {
            header: t.keys.until,
            cell: ({ acceptedUntil }) => (acceptedUntil === null ? t.keys.untilRevoked : <When at={acceptedUntil} />),
          },
        ]}
      />
      {may && (
        <Group>
          <ActButton
            title={t.keys.revoke}
            says={t.keys.revokeSays}
            typed={application.id}
            route={consoleApi.revokeOldKeys}
            input={{ params: { appId: application.id }, body: { appKey: hasOld('app'), masterKey: hasOld('master') } }}
            done={() => t.keys.revoked}
          />
        </Group>
      )}
    </Panel>
  );
}

const HOUR_S = 3_600;

function RotateDialog({ appId }: { readonly appId: string }): ReactNode {
  const t = useTexts();
  const notices = useNotices();
  const rotate = useAct(consoleApi.rotateKeys);
  const [kinds, setKinds] = useState({ appKey: false, masterKey: true });
  const [kept, setKept] = useState('12');
  const submit = async () => {
    const keepOldSeconds = kept === 'revoked' ? { keepOldSeconds: null } : { keepOldSeconds: Number(kept) * HOUR_S };
    await rotate.mutateAsync({ params: { appId }, body: { ...kinds, ...(kept === '0' ? {} : keepOldSeconds) } });
    notices.done(t.keys.rotated);
  };
  const nameOfTime = (value: string) => {
    if (value === 'revoked') return t.keys.untilRevoked;
    return value === '0' ? t.keys.endAtOnce : t.keys.hours(Number(value));
  };
  const choice = (name: 'appKey' | 'masterKey') => (
    <Checkbox
      label={t.keys[name]}
      checked={kinds[name]}
      onChange={(event) => setKinds({ ...kinds, [name]: event.currentTarget.checked })}
    />
  );
  return (
    <FormDialog
      title={t.keys.rotate}
      submitText={t.keys.rotate}
      submit={submit}
      isDisabled={!kinds.appKey && !kinds.masterKey}
    >
      <Text>{t.keys.rotateSays}</Text>
      {choice('appKey')}
      {choice('masterKey')}
      <NativeSelect
        label={t.keys.keep}
        value={kept}
        data={['0', '1', '12', '72', 'revoked'].map((value) => ({ value, label: nameOfTime(value) }))}
        onChange={onText(setKept)}
      />
    </FormDialog>
  );
}
