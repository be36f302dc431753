import { Alert, Badge, Button, Checkbox, Group, Menu, NativeSelect, Stack, Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { consoleApi, type Operator, ROLES, type RouteReply } from '#console-api';
import { sessionQuery, useAct, useApplications, useMay, useRead, useSession } from '../api/queries';
import { AddButton, Confirm, FormDialog, useNotices } from '../parts/dialogs';
import { onText, optionsOf } from '../parts/fields';
import { Bdi, Copyable, Icon, LockedBadge, Page, Panel } from '../parts/panel';
import { visible } from '../parts/visible.rules';
import { List } from '../table/data-table';
import { useFormats, useLanguage, useTexts, When } from '../texts/texts';

type Link = RouteReply<typeof consoleApi.createOperatorLink>['link'] & { readonly name: string };
type Rights = Pick<Operator, 'isOwner' | 'grants'>;

export function OperatorsPage(): ReactNode {
  const t = useTexts();
  const operators = useRead(consoleApi.listOperators, {});
  const [link, setLink] = useState<Link>();
  const [edited, setEdited] = useState<Operator>();
  const mayInvite = useMay('*')('operators.write');
  return (
    <Page
      title={t.pages.operators}
      acts={mayInvite && <AddButton text={t.operators.invite} dialog={<InviteDialog show={setLink} />} />}
    >
      {link !== undefined && <LinkAlert link={link} />}
      <Panel>
        <List
          label={t.pages.operators}
          of={operators}
          idOf={({ id }) => id}
          columns={[
            { header: t.access.name, cell: ({ name }) => <Bdi>{name}</Bdi> },
            { header: t.access.address, from: 'sm', cell: ({ address }) => <Bdi>{address}</Bdi> },
            { header: t.operators.rights, cell: (operator) => <Rights operator={operator} /> },
            {
              header: t.users.state,
              from: 'sm',
              cell: ({ state, lockedUntil, hasSecondFactor }) => (
                <Group gap={4}>
                  <Badge color={state === 'active' ? 'good' : 'gray'}>{t.operators.states[state]}</Badge>
                  {hasSecondFactor && <Badge color="good">{t.factors.title}</Badge>}
                  <LockedBadge until={lockedUntil} />
                </Group>
              ),
            },
            { header: t.operators.lastSeen, from: 'md', cell: ({ lastSeenAt }) => <When at={lastSeenAt} /> },
            {
              header: t.table.acts,
              cell: (operator) => <OperatorActs operator={operator} show={setLink} edit={setEdited} />,
            },
          ]}
        />
      </Panel>
      {edited !== undefined && <RightsDialog operator={edited} onClose={() => setEdited(undefined)} />}
    </Page>
  );
}

/** A link that works once: it is shown now and never again. */
function LinkAlert({ link }: { readonly link: Link }): ReactNode {
  const t = useTexts();
  const formats = useFormats();
  return (
    <Alert color="link" icon={<Icon name="key" />} title={visible(t.operators.link(link.name))} role="status">
      <Stack gap="xs">
        <Text>
          {t.operators.linkSays(formats.time(link.endsAt))} {link.isMailed && t.operators.linkMailed}
        </Text>
        <div data-link>
          <Copyable value={link.url} />
        </div>
      </Stack>
    </Alert>
  );
}

function Rights({ operator: { isOwner, grants } }: { readonly operator: Operator }): ReactNode {
  const t = useTexts();
  if (isOwner) return <Badge>{t.operators.owner}</Badge>;
  if (grants.length === 0) return '–';
  return (
    <Group gap={4}>
      {grants.map(({ appId, role }) => (
        <Badge key={appId} color="gray">
          {t.operators.roles[role]}
          {': '}
          {appId === '*' ? t.operators.allApplications : appId}
        </Badge>
      ))}
    </Group>
  );
}

interface ActsProps {
  readonly operator: Operator;
  readonly show: (link: Link | undefined) => void;
  readonly edit: (operator: Operator) => void;
}

function OperatorActs({ operator, show, edit }: ActsProps): ReactNode {
  const t = useTexts();
  const notices = useNotices();
  const { operator: me } = useSession();
  const change = useAct(consoleApi.changeOperator);
  const end = useAct(consoleApi.endOperatorSessions);
  const renew = useAct(consoleApi.createOperatorLink);
  const { language } = useLanguage();
  const [asked, ask] = useState<'disable' | 'end'>();
  const params = { operatorId: operator.id };
  const isDisabled = operator.state === 'disabled';
  const setDisabled = (isNowDisabled: boolean) => change.mutateAsync({ params, body: { isDisabled: isNowDisabled } });
  const act = (work: () => Promise<unknown>) => () => void work().catch(notices.failed);
  const questions = {
    disable: {
      title: t.operators.disable,
      says: t.operators.disableSays(operator.name),
      onConfirm: async () => {
        await setDisabled(true);
        notices.undoable(t.acts.saved, () => setDisabled(false));
      },
    },
    end: {
      title: t.operators.endSessions,
      says: t.operators.endSessionsSays(operator.name),
      onConfirm: async () => notices.done(t.operators.ended((await end.mutateAsync({ params })).ended)),
    },
  };
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <Button aria-label={visible(t.operators.actsOf(operator.name))} px={6}>
          <Icon name="more" size={16} />
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item onClick={() => edit(operator)}>{t.operators.changeRights}</Menu.Item>
        <Menu.Item
          disabled={isDisabled}
          onClick={act(async () => {
            show(undefined);
            const { link } = await renew.mutateAsync({ params, body: { language } });
            show({ ...link, name: operator.name });
          })}
        >
          {operator.state === 'invited' ? t.operators.newInvitation : t.operators.recover}
        </Menu.Item>
        <Menu.Item onClick={() => ask('end')}>{t.operators.endSessions}</Menu.Item>
        {operator.id !== me?.id && (
          <Menu.Item color="bad" onClick={isDisabled ? act(() => setDisabled(false)) : () => ask('disable')}>
            {isDisabled ? t.operators.enable : t.operators.disable}
          </Menu.Item>
        )}
      </Menu.Dropdown>
      {asked && <Confirm {...questions[asked]} onClose={() => ask(undefined)} />}
    </Menu>
  );
}

interface RightsProps {
  readonly rights: Rights;
  readonly onChange: (rights: Rights) => void;
}

function RightsFields({ rights, onChange }: RightsProps): ReactNode {
  const t = useTexts();
  const { data } = useApplications();
  const applications = [{ id: '*', name: t.operators.allApplications }, ...(data?.items ?? [])];
  const roleOn = (id: string) => rights.grants.find(({ appId }) => appId === id)?.role ?? '';
  const grant = (id: string, chosen: string) => {
    const role = ROLES.find((each) => each === chosen);
    const others = rights.grants.filter(({ appId }) => appId !== id);
    onChange({ ...rights, grants: role === undefined ? others : [...others, { appId: id, role }] });
  };
  return (
    <>
      <Checkbox
        label={t.operators.owner}
        description={t.operators.ownerSays}
        checked={rights.isOwner}
        onChange={(event) => onChange({ ...rights, isOwner: event.currentTarget.checked })}
      />
      {!rights.isOwner && (
        <Stack gap="xs" role="group" aria-label={t.operators.rights}>
          {applications.map(({ id, name }) => (
            <NativeSelect
              key={id}
              label={visible(name)}
              value={roleOn(id)}
              data={[{ value: '', label: t.operators.noRole }, ...optionsOf(t.operators.roles)]}
              onChange={onText((chosen) => grant(id, chosen))}
            />
          ))}
        </Stack>
      )}
    </>
  );
}

function InviteDialog({ show }: Pick<ActsProps, 'show'>): ReactNode {
  const t = useTexts();
  const { language } = useLanguage();
  const invite = useAct(consoleApi.inviteOperator);
  const [rights, setRights] = useState<Rights>({ isOwner: false, grants: [] });
  const form = useForm({
    initialValues: { name: '', address: '' },
    validate: {
      name: (value) => (value.trim() === '' ? t.access.nameWanted : null),
      address: (value) => (/^[^\s@]+@[^\s@]+$/.test(value) ? null : t.access.addressWanted),
    },
  });
  const submit = async () => {
    const { name, address } = form.getValues();
    show(undefined);
    const given = rights.isOwner ? { isOwner: true, grants: [] } : rights;
    const { link } = await invite.mutateAsync({ body: { name, address, ...given, language } });
    show({ ...link, name });
  };
  return (
    <FormDialog title={t.operators.invite} submitText={t.operators.invite} form={form} submit={submit}>
      <TextInput label={t.access.name} data-autofocus {...form.getInputProps('name')} />
      <TextInput label={t.access.address} type="email" {...form.getInputProps('address')} />
      <RightsFields rights={rights} onChange={setRights} />
    </FormDialog>
  );
}

function RightsDialog({ operator, onClose }: { readonly operator: Operator; readonly onClose: () => void }): ReactNode {
  const t = useTexts();
  const notices = useNotices();
  const queries = useQueryClient();
  const setRights = useAct(consoleApi.setGrants);
  const former: Rights = { isOwner: operator.isOwner, grants: operator.grants };
  const [rights, type] = useState(former);
  const write = async (before: Rights, next: Rights) => {
    await setRights.mutateAsync({ params: { operatorId: operator.id }, body: { ...next, former: before } });
    // The rights may be those of the operator of this session.
    await queries.invalidateQueries({ queryKey: sessionQuery.queryKey });
  };
  const save = async () => {
    await write(former, rights);
    notices.undoable(t.acts.saved, () => write(rights, former));
  };
  return (
    <FormDialog title={t.operators.changeRights} submitText={t.acts.save} submit={save} onClose={onClose}>
      <RightsFields rights={rights} onChange={type} />
    </FormDialog>
  );
}
