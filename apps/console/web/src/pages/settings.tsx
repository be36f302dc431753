import { Badge, Group, Stack, Switch, Text, Textarea, TextInput } from '@mantine/core';
import type { ReactNode } from 'react';
import { type ApplicationDetails, consoleApi } from '#console-api';
import { useAct, useApp, useRead } from '../api/queries';
import { AskButton, useNotices, useSave } from '../parts/dialogs';
import { onText } from '../parts/fields';
import { EditForm, useEdit } from '../parts/forms';
import { PageTabs } from '../parts/page-tabs';
import { Answer, Bdi, Page, Panel } from '../parts/panel';
import { useTexts } from '../texts/texts';
import { PlatformsTab, TextMessagesTab } from './credentials';
import { type ApplicationProps, KeysTab } from './keys';
import { VendorsTab } from './vendors';

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
