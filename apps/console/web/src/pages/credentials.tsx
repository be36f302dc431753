import { Badge, Button, Group, NativeSelect, Stack, Text, Textarea, TextInput } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { consoleApi, type RouteReply } from '#console-api';
import { useAct, useApp, useRead } from '../api/queries';
import { ActButton, DialogButton, FormDialog, useNotices } from '../parts/dialogs';
import { onText } from '../parts/fields';
import { Answer, Bdi, Empty, Panel } from '../parts/panel';
import { DataTable } from '../table/data-table';
import { useFormats, useTexts } from '../texts/texts';

type StoredPart = Pick<RouteReply<typeof consoleApi.listPlatforms>['items'][number], 'secrets' | 'shown'>;
type Kind = RouteReply<typeof consoleApi.listPlatforms>['kinds'][number];

/** The stored part of credentials: values that are not secret, and the names of the secrets that are set. */
function Stored({ stored: { shown, secrets } }: { readonly stored: StoredPart }): ReactNode {
  const t = useTexts();
  return (
    <ul className="list">
      {Object.entries(shown).map(([name, value]) => (
        <li key={name}>
          {name} <Bdi>{value}</Bdi>
        </li>
      ))}
      {secrets.map((name) => (
        <li key={name}>
          {name} {t.credentials.secretSet}
        </li>
      ))}
    </ul>
  );
}

interface CredentialsButtonProps {
  readonly text?: string;
  readonly title: string;
  readonly kinds: readonly Kind[];
  readonly stored?: string | undefined;
  /** A further field of the key of the credentials, by its label. */
  readonly name?: { readonly label: string; readonly initial: string };
  /** @returns the notice. Default: saved */
  readonly submit: (kind: string, fields: Record<string, string>, name: string) => Promise<string | undefined>;
}

function CredentialsButton({ text, ...form }: CredentialsButtonProps): ReactNode {
  return <DialogButton text={text ?? form.title} variant="default" dialog={<CredentialsForm {...form} />} />;
}

function CredentialsForm({ title, kinds, stored, name, submit }: CredentialsButtonProps): ReactNode {
  const t = useTexts();
  const notices = useNotices();
  const [chosen, setKind] = useState(stored);
  const [given, setGiven] = useState<Record<string, string>>({});
  const [chosenName, setName] = useState(name?.initial ?? '');
  const { kind = '', fields = [] } = kinds.find((each) => each.kind === chosen) ?? kinds[0] ?? {};
  const save = async () => {
    const filled = fields.map((field) => [field.name, given[field.name] ?? ''] as const);
    const typed = Object.fromEntries(filled.filter(([, value]) => value !== ''));
    notices.done((await submit(kind, typed, chosenName.trim())) ?? t.acts.saved);
  };
  return (
    <FormDialog title={title} submitText={t.acts.save} submit={save} isDisabled={kind === ''}>
      <NativeSelect
        label={t.credentials.kind}
        value={kind}
        data={kinds.map((each) => each.kind)}
        onChange={onText(setKind)}
      />
      {name !== undefined && <TextInput label={name.label} value={chosenName} onChange={onText(setName)} />}
      {fields.map((field) => (
        <CredentialField
          key={`${kind} ${field.name}`}
          field={field}
          value={given[field.name] ?? ''}
          onChange={(value) => setGiven((old) => ({ ...old, [field.name]: value }))}
        />
      ))}
    </FormDialog>
  );
}

interface FieldProps {
  readonly field: Kind['fields'][number];
  readonly value: string;
  readonly onChange: (value: string) => void;
}

function CredentialField({ field, value, onChange }: FieldProps): ReactNode {
  const { name, isSecret, isRequired, description } = field;
  // A key of many lines does not fit into a field for passwords.
  const Field = isSecret && /key|pem|json|account/i.test(name) ? Textarea : TextInput;
  return (
    <Field
      label={name}
      required={isRequired}
      value={value}
      {...(description === null ? {} : { description })}
      {...(isSecret && Field === TextInput ? { type: 'password', autoComplete: 'off' } : {})}
      onChange={onText(onChange)}
    />
  );
}

export function PlatformsTab(): ReactNode {
  const t = useTexts();
  const { number } = useFormats();
  const { appId, may } = useApp();
  const platforms = useRead(consoleApi.listPlatforms, { params: { appId } });
  const set = useAct(consoleApi.setPlatform);
  const buttonOf = (initial: string, stored?: string) => (
    <CredentialsButton
      text={stored === undefined ? t.credentials.add : t.acts.change}
      title={t.credentials.add}
      kinds={platforms.data?.kinds ?? []}
      stored={stored}
      name={{ label: t.credentials.platformName, initial }}
      submit={async (kind, fields, name) => {
        const params = { appId, platform: name === '' ? kind : name };
        await set.mutateAsync({ params, body: { kind, fields } });
        return undefined;
      }}
    />
  );
  return (
    <Panel title={t.settings.tabs.platforms} acts={may('platforms.write') && buttonOf('')}>
      <Answer of={platforms}>
        {({ items, accounts }) => (
          <>
            {accounts
              .filter(({ unverified }) => unverified > 0)
              .map(({ platform, unverified }) => (
                <Text key={platform}>{t.overview.unverified(platform, unverified, number(unverified))}</Text>
              ))}
            <DataTable
              label={t.settings.tabs.platforms}
              rows={items}
              idOf={({ platform }) => platform}
              empty={<Empty title={t.credentials.noPlatforms} says={t.credentials.noPlatformsSays} />}
              columns={[
                { header: t.users.platform, cell: ({ platform }) => platform },
                { header: t.credentials.kind, cell: ({ kind }) => kind },
                { header: t.credentials.fields, cell: (stored) => <Stored stored={stored} />, from: 'sm' },
                {
                  header: t.table.acts,
                  cell: ({ platform, kind }) =>
                    may('platforms.write') && (
                      <Group gap={4}>
                        {buttonOf(platform, kind)}
                        <ActButton
                          text={t.acts.remove}
                          title={t.credentials.remove(platform)}
                          says={t.credentials.removeSays}
                          typed={platform}
                          route={consoleApi.removePlatform}
                          input={{ params: { appId, platform } }}
                        />
                      </Group>
                    ),
                },
              ]}
            />
          </>
        )}
      </Answer>
    </Panel>
  );
}

export function TextMessagesTab(): ReactNode {
  const t = useTexts();
  const { appId, may } = useApp();
  const answer = useRead(consoleApi.getTextMessageProvider, { params: { appId } });
  const set = useAct(consoleApi.setTextMessageProvider);
  return (
    <Panel title={t.settings.tabs.texts}>
      <Answer of={answer}>
        {({ provider, kinds }) => (
          <>
            {provider === null ? (
              <Empty title={t.credentials.noProvider} says={t.credentials.noProviderSays} />
            ) : (
              <Stack gap="xs">
                <Group>
                  <Badge>{provider.kind}</Badge>
                </Group>
                <Stored stored={provider} />
              </Stack>
            )}
            {may('platforms.write') && (
              <Group gap="xs">
                <CredentialsButton
                  text={provider === null ? t.credentials.setProvider : t.acts.change}
                  title={t.credentials.setProvider}
                  kinds={kinds}
                  stored={provider?.kind}
                  submit={async (kind, fields) => {
                    await set.mutateAsync({ params: { appId }, body: { kind, fields } });
                    return undefined;
                  }}
                />
                {provider !== null && (
                  <ActButton
                    text={t.acts.remove}
                    title={t.credentials.remove(provider.kind)}
                    says={t.credentials.removeProviderSays}
                    typed={provider.kind}
                    route={consoleApi.removeTextMessageProvider}
                    input={{ params: { appId } }}
                  />
                )}
              </Group>
            )}
          </>
        )}
      </Answer>
    </Panel>
  );
}

type Vendor = RouteReply<typeof consoleApi.listVendors>['items'][number];
type Lanes = RouteReply<typeof consoleApi.listVendors>['lanes'];
type VendorWithLanes = Vendor & { readonly lanes: Lanes };

const lanesOf = ({ vendor, profile, part }: Vendor, lanes: Lanes) =>
  lanes.filter(({ lane }) => lane.startsWith(`${vendor}/${profile}/${part}/`));

export function VendorsTab(): ReactNode {
  const t = useTexts();
  const { number } = useFormats();
  const { appId, may } = useApp();
  const vendors = useRead(consoleApi.listVendors, { params: { appId } });
  const set = useAct(consoleApi.setVendor);
  const addButton = (
    <CredentialsButton
      title={t.credentials.add}
      kinds={vendors.data?.kinds ?? []}
      name={{ label: t.credentials.profile, initial: '_default' }}
      submit={async (vendor, fields, profile) => {
        const { problem } = await set.mutateAsync({ params: { appId }, body: { vendor, profile, fields } });
        return problem === null ? undefined : t.credentials.savedWith(problem);
      }}
    />
  );
  return (
    <Panel title={t.settings.tabs.vendors} acts={may('platforms.write') && addButton}>
      <Answer of={vendors}>
        {({ items, lanes }) => (
          <DataTable
            label={t.settings.tabs.vendors}
            rows={items.map((item) => ({ ...item, lanes: lanesOf(item, lanes) }))}
            empty={<Empty title={t.credentials.noVendors} says={t.credentials.noVendorsSays} />}
            idOf={({ vendor, profile, part }) => `${vendor} ${profile} ${part}`}
            columns={[
              { header: t.pushes.vendor, cell: ({ vendor }) => vendor },
              { header: t.credentials.profile, cell: ({ profile }) => profile },
              { header: t.credentials.fields, from: 'sm', cell: (stored) => <Stored stored={stored} /> },
              {
                header: t.devices.waiting,
                isNumber: true,
                cell: ({ lanes: own }) => number(own.reduce((sum, { devices }) => sum + devices, 0)),
              },
              {
                header: t.table.acts,
                cell: (each) => may('platforms.write') && <VendorActs vendor={each} />,
              },
            ]}
          />
        )}
      </Answer>
    </Panel>
  );
}

function VendorActs({ vendor: { vendor, profile, part, lanes } }: { readonly vendor: VendorWithLanes }): ReactNode {
  const t = useTexts();
  const { appId } = useApp();
  const notices = useNotices();
  const change = useAct(consoleApi.changeVendorLanes);
  const isPaused = lanes.some((lane) => lane.isPaused);
  const body = { vendor, profile, part };
  const params = { appId };
  const write = (pauses: boolean) =>
    change.mutateAsync({ params, body: { ...body, change: pauses ? 'pause' : 'resume' } });
  const toggle = async () => {
    await write(!isPaused);
    notices.undoable(isPaused ? t.credentials.resumed : t.credentials.paused, () => write(isPaused));
  };
  return (
    <Group gap={4}>
      <ActButton
        text={t.credentials.check}
        route={consoleApi.checkVendor}
        input={{ params, body }}
        done={({ problem }) => problem ?? t.credentials.works}
      />
      <Button loading={change.isPending} onClick={() => void toggle().catch(notices.failed)}>
        {isPaused ? t.credentials.resume : t.credentials.pause}
      </Button>
      <ActButton
        text={t.acts.remove}
        title={t.credentials.remove(vendor)}
        says={t.credentials.removeVendorSays}
        typed={vendor}
        route={consoleApi.removeVendor}
        input={{ params, body }}
      />
    </Group>
  );
}
