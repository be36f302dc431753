import { Badge, Checkbox, Code, Group, NativeSelect, Stack, Switch, Text, Textarea, TextInput } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { type ApplicationDetails, consoleApi } from '#console-api';
import { useAct, useApp, useRead } from '../api/queries';
import { ActButton, AskButton, DialogButton, FormDialog, useNotices, useSave } from '../parts/dialogs';
import { onText } from '../parts/fields';
import { EditForm, useEdit } from '../parts/forms';
import { Answer, Bdi, Copyable, Page, PageTabs, Panel } from '../parts/panel';
import { DataTable } from '../table/data-table';
import { useTexts, When } from '../texts/texts';
import { PlatformsTab, TextMessagesTab, VendorsTab } from './credentials';

export function SettingsPage(): ReactNode {
  const t = useTexts();
  const { appId } = useApp();
  const answer = useRead(consoleApi.getApplication, { params: { appId } });
  const ofApplication = (Tab: typeof GeneralTab) => (
    <Answer of={answer} lines={10}>
      {({ application }) => <Tab application={application} />}
    </Answer>
  );
  return (
    <Page title={t.pages.settings}>
      <PageTabs
        labels={t.settings.tabs}
        panels={{
          general: ofApplication(GeneralTab),
          keys: ofApplication(KeysTab),
          platforms: <PlatformsTab />,
          texts: <TextMessagesTab />,
          vendors: <VendorsTab />,
        }}
      />
    </Page>
  );
}

type Setting = ApplicationDetails['settings'][number];
type Secret = ApplicationDetails['secretSettings'][number];

function GeneralTab({ application }: ApplicationProps): ReactNode {
  const t = useTexts();
  return (
    <Panel>
      <Stack gap="md">
        {application.settings.map((setting) => (
          <SettingField key={setting.name} setting={setting} />
        ))}
        {application.secretSettings.map((setting) => (
          <SecretField key={setting.name} setting={setting} />
        ))}
        <Text c="dimmed">{t.settings.says}</Text>
      </Stack>
    </Panel>
  );
}

/** The page's own text for a setting that it knows, else the server's. */
function useDescription({ name, description }: Setting | Secret): string {
  const known: Readonly<Record<string, string | undefined>> = useTexts().settings.known;
  return known[name] ?? description;
}

function SettingField({ setting }: { readonly setting: Setting }): ReactNode {
  const t = useTexts();
  const { appId, may } = useApp();
  const mayWrite = may('settings.write');
  const notices = useNotices();
  const change = useSave(consoleApi.changeSetting);
  const edit = useEdit<Setting, string>(setting, ({ value }) => value);
  const { name, kind, isDefault } = setting;
  const description = useDescription(setting);
  const save = async (value: string, on: Setting) => {
    const { application } = await change.save({ params: { appId, name }, body: { value, former: on.value } });
    return application.settings.find((each) => each.name === name) ?? { ...on, value };
  };
  const label = (
    <Group gap="xs" component="span">
      <span>{name}</span>
      {!isDefault && <Badge component="span">{t.settings.changed}</Badge>}
    </Group>
  );
  const field = {
    label,
    description,
    value: edit.typed ?? setting.value,
    readOnly: !mayWrite,
    onChange: onText((value) => (value === setting.value ? edit.discard() : edit.type(value))),
  };
  return (
    <EditForm edit={edit} save={save} maw="48rem" theirs={<Bdi className="wrap">{t.user.theirsIs(setting.value)}</Bdi>}>
      {kind === 'flag' && (
        <Switch
          label={label}
          description={description}
          checked={setting.value === 'true'}
          disabled={!mayWrite || change.isPending}
          onChange={(event) => void save(String(event.currentTarget.checked), setting).catch(notices.failed)}
        />
      )}
      {kind === 'text' && <TextInput {...field} />}
      {(kind === 'list' || kind === 'object') && <Textarea rows={3} className="code" {...field} />}
    </EditForm>
  );
}

function SecretField({ setting }: { readonly setting: Secret }): ReactNode {
  const t = useTexts();
  const { appId, may } = useApp();
  const { name, isSet } = setting;
  const change = useAct(consoleApi.changeSetting);
  const notices = useNotices();
  const edit = useEdit<Secret, string>(setting, () => name);
  const says = useDescription(setting);
  const mayWrite = may('settings.write');
  const save = async (value: string) => {
    await change.mutateAsync({ params: { appId, name }, body: { value } });
    notices.done(t.acts.saved);
    return setting;
  };
  const removeButton = <AskButton text={t.acts.remove} title={name} says={says} onConfirm={() => save('')} />;
  return (
    <EditForm edit={edit} save={save} maw="48rem" acts={edit.typed === undefined && isSet && mayWrite && removeButton}>
      <TextInput
        label={name}
        description={says}
        type="password"
        autoComplete="off"
        placeholder={isSet ? t.settings.secretSet : t.settings.secretNotSet}
        value={edit.typed ?? ''}
        readOnly={!mayWrite}
        onChange={onText((value) => (value === '' ? edit.discard() : edit.type(value)))}
      />
    </EditForm>
  );
}

interface ApplicationProps {
  readonly application: ApplicationDetails;
}

/** The keys of an application. The master key is not among the answers of the server: the command line shows it. */
function KeysTab({ application }: ApplicationProps): ReactNode {
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
