import { Badge, Button, Group, Stack, Switch, Text, Textarea, TextInput } from '@mantine/core';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { type ApplicationDetails, consoleApi } from '#console-api';
import { useAct, useMay, useRead } from '../api/queries';
import { AskButton, useNotices } from '../parts/dialogs';
import { onText } from '../parts/fields';
import { PageTabs } from '../parts/page-tabs';
import { Answer, Failure, Page, Panel, SaveOrDiscard } from '../parts/panel';
import { useTexts } from '../texts/texts';
import { PlatformsTab, TextMessagesTab } from './credentials';
import { KeysTab } from './keys';
import { VendorsTab } from './vendors';

const FROM = '/frame/apps/$appId/settings';
const TABS = ['general', 'keys', 'platforms', 'texts', 'vendors'] as const;

export function SettingsPage(): ReactNode {
  const t = useTexts();
  const { appId } = useParams({ from: FROM });
  const { tab = 'general' } = useSearch({ from: FROM });
  const navigate = useNavigate({ from: '/apps/$appId/settings' });
  const answer = useRead(consoleApi.getApplication, { params: { appId } });
  return (
    <Page title={t.pages.settings}>
      <PageTabs
        tabs={TABS}
        shown={tab}
        labels={t.settings.tabs}
        onChange={(shown) => void navigate({ search: { tab: shown } })}
        panels={{
          general: (
            <Answer of={answer} lines={10}>
              {({ application }) => <GeneralTab application={application} />}
            </Answer>
          ),
          keys: (
            <Answer of={answer} lines={10}>
              {({ application }) => <KeysTab application={application} />}
            </Answer>
          ),
          platforms: <PlatformsTab appId={appId} />,
          texts: <TextMessagesTab appId={appId} />,
          vendors: <VendorsTab appId={appId} />,
        }}
      />
    </Page>
  );
}

interface ApplicationProps {
  readonly application: ApplicationDetails;
}

type Setting = ApplicationDetails['settings'][number];

function GeneralTab({ application }: ApplicationProps): ReactNode {
  const t = useTexts();
  return (
    <Panel>
      <Stack gap="md">
        {application.settings.map((setting) => (
          <SettingField key={setting.name} appId={application.id} setting={setting} />
        ))}
        {application.secretSettings.map(({ name, isSet, description }) => (
          <SecretField key={name} appId={application.id} name={name} isSet={isSet} description={description} />
        ))}
        <Text size="sm" c="dimmed">
          {t.settings.says}
        </Text>
      </Stack>
    </Panel>
  );
}

/** The page's own text for a setting that it knows, else the server's. */
function useDescription(name: string, description: string): string {
  const known: Readonly<Record<string, string | undefined>> = useTexts().settings.known;
  return known[name] ?? description;
}

/** Saves at once, with Undo. */
function SettingField({ appId, setting }: { readonly appId: string; readonly setting: Setting }): ReactNode {
  const t = useTexts();
  const may = useMay(appId);
  const notices = useNotices();
  const change = useAct(consoleApi.changeSetting);
  const { name, kind, isDefault, value: stored } = setting;
  const [typed, setTyped] = useState<string>();
  const description = useDescription(name, setting.description);
  const params = { appId, name };
  const save = async (next: string) => {
    const { application } = await change.mutateAsync({ params, body: { value: next, former: stored } });
    const saved = application.settings.find((each) => each.name === name)?.value ?? next;
    notices.undoable(t.acts.saved, () => change.mutateAsync({ params, body: { value: stored, former: saved } }));
    setTyped((now) => (now === next ? undefined : now));
  };
  const store = (next: string) => void save(next).catch(() => undefined);
  const mayWrite = may('settings.write');
  const label = (
    <Group gap="xs" component="span">
      <span>{name}</span>
      {!isDefault && <Badge component="span">{t.settings.changed}</Badge>}
    </Group>
  );
  const field = {
    label,
    description,
    value: typed ?? stored,
    readOnly: !mayWrite,
    onChange: onText((value) => setTyped(value === stored ? undefined : value)),
  };
  return (
    <Stack gap={4} maw="48rem">
      {kind === 'flag' && (
        <Switch
          label={label}
          description={description}
          checked={stored === 'true'}
          disabled={!mayWrite || change.isPending}
          onChange={(event) => store(String(event.currentTarget.checked))}
        />
      )}
      {kind === 'text' && <TextInput {...field} />}
      {(kind === 'list' || kind === 'object') && <Textarea rows={3} className="code" {...field} />}
      {typed !== undefined && (
        <SaveOrDiscard isPending={change.isPending} save={() => store(typed)} discard={() => setTyped(undefined)} />
      )}
      <Failure error={change.error} />
    </Stack>
  );
}

interface SecretProps {
  readonly appId: string;
  readonly name: string;
  readonly isSet: boolean;
  readonly description: string;
}

function SecretField({ appId, name, isSet, description }: SecretProps): ReactNode {
  const t = useTexts();
  const change = useAct(consoleApi.changeSetting);
  const notices = useNotices();
  const [value, setValue] = useState('');
  const says = useDescription(name, description);
  const mayWrite = useMay(appId)('settings.write');
  const save = async (next: string) => {
    await change.mutateAsync({ params: { appId, name }, body: { value: next } });
    setValue((now) => (now === next ? '' : now));
    notices.done(t.acts.saved);
  };
  return (
    <Stack gap={4} maw="48rem">
      <TextInput
        label={name}
        description={says}
        type="password"
        autoComplete="off"
        placeholder={isSet ? t.settings.secretSet : t.settings.secretNotSet}
        value={value}
        readOnly={!mayWrite}
        onChange={onText(setValue)}
      />
      <Group data-unsaved={value !== ''}>
        {value !== '' && (
          <Button loading={change.isPending} onClick={() => void save(value).catch(() => undefined)}>
            {t.acts.save}
          </Button>
        )}
        {value === '' && isSet && mayWrite && (
          <AskButton text={t.acts.remove} title={name} says={says} onConfirm={() => save('')} />
        )}
      </Group>
      <Failure error={change.error} />
    </Stack>
  );
}
