import { Alert, Button, Group, Menu, Paper, Stack, Text, TextInput, Title } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useHash } from '@mantine/hooks';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { type ReactNode, useEffect, useState } from 'react';
import { consoleApi, type RouteReply, type Session } from '#console-api';
import { call } from '../api/call';
import { sessionQuery } from '../api/queries';
import { goToIssuer, noteIssuerFinished, signInByPasskey } from '../api/sign-in';
import { AddressField, CodeField, NewPasswordField, PasswordField, passwordMistake } from '../parts/fields';
import { Form, type FormProps, useCode, type Way } from '../parts/forms';
import { Answer, Failure, Icon } from '../parts/panel';
import { LookItems } from '../shell/operator-menu';
import { useTexts } from '../texts/texts';

function AccessPage({ title, children }: { readonly title: string; readonly children: ReactNode }): ReactNode {
  const t = useTexts();
  return (
    <div className="access">
      <title>{`${title} · Gatepost`}</title>
      <main>
        <Group justify="space-between" mb="sm">
          <Text fw={600} size="md">
            {t.shell.product}
          </Text>
          <Menu position="bottom-end">
            <Menu.Target>
              <Button variant="subtle" color="gray" c="inherit" px="xs" aria-label={t.shell.look}>
                <Icon name="language" />
              </Button>
            </Menu.Target>
            <Menu.Dropdown>
              <LookItems />
            </Menu.Dropdown>
          </Menu>
        </Group>
        <Paper withBorder p="lg" radius="md">
          <Stack gap="md">
            <Title order={1}>{title}</Title>
            {children}
          </Stack>
        </Paper>
      </main>
    </div>
  );
}

/** Only a path of this console: a link from elsewhere cannot lead away. */
function ownPath(to: string | undefined): string | undefined {
  return to !== undefined && /^\/(?![/\\])/.test(to) ? to : undefined;
}

function useEnter(): (session: Session, to?: string) => Promise<void> {
  const queries = useQueryClient();
  const navigate = useNavigate();
  return async (session, to) => {
    queries.clear();
    queries.setQueryData(sessionQuery.queryKey, session);
    await navigate({ to: ownPath(to) ?? '/', replace: true });
  };
}

interface AccessFormProps extends Omit<FormProps, 'submit'> {
  readonly button: string;
  readonly submit: () => Promise<Session>;
  readonly others?: readonly Way<Session>[];
}

function useIssuer(): readonly Way<Session>[] {
  const t = useTexts();
  const { to } = useSearch({ strict: false });
  const issuer = useQuery(sessionQuery).data?.issuer ?? null;
  return issuer === null ? [] : [{ text: t.issuer.use(issuer), submit: () => goToIssuer(ownPath(to)) }];
}

function AccessForm({ button, submit, form, children, others = [] }: AccessFormProps): ReactNode {
  const enter = useEnter();
  const { to } = useSearch({ strict: false });
  const entering = (act: () => Promise<Session>) => async () => enter(await act(), to);
  return (
    <Form
      form={form}
      submit={entering(submit)}
      buttons={({ isPending }, pass) => (
        <>
          <Button variant="filled" type="submit" size="sm" mt="xs" loading={isPending}>
            {button}
          </Button>
          {others.map((way) => (
            <Button key={way.text} size="sm" disabled={isPending} onClick={() => pass(entering(way.submit))}>
              {way.text}
            </Button>
          ))}
        </>
      )}
    >
      {children}
    </Form>
  );
}

export function SignInPage(): ReactNode {
  const t = useTexts();
  const { data: session } = useQuery(sessionQuery);
  return (
    <AccessPage title={t.access.signIn}>
      {session?.isSetUp === false && (
        <Alert color="warning" icon={<Icon name="info" />}>
          {session.hasPasswords ? t.access.notSetUp : t.issuer.notSetUp}
        </Alert>
      )}
      {session?.hasPasswords === false ? <IssuerForm /> : <PasswordForm />}
    </AccessPage>
  );
}

function IssuerForm(): ReactNode {
  const t = useTexts();
  const [way] = useIssuer();
  if (way === undefined) return null;
  return (
    <AccessForm button={way.text} submit={way.submit}>
      <Text>{t.issuer.only}</Text>
    </AccessForm>
  );
}

function PasswordForm(): ReactNode {
  const t = useTexts();
  const issuer = useIssuer();
  const { isNeeded: needsCode, ask } = useCode();
  const form = useForm({
    initialValues: { address: '', password: '', code: '' },
    validate: {
      address: (value) => (value.includes('@') ? null : t.access.addressWanted),
      password: (value) => (value === '' ? t.access.passwordWanted : null),
      code: (value) => (needsCode && value === '' ? t.factors.codeWanted : null),
    },
  });
  const submit = () => {
    const { code, ...body } = form.getValues();
    return ask(call(consoleApi.signIn, { body: code === '' ? body : { ...body, code } }));
  };
  return (
    <AccessForm
      button={t.access.signIn}
      form={form}
      submit={submit}
      others={[{ text: t.factors.usePasskey, submit: signInByPasskey }, ...issuer]}
    >
      <AddressField autoFocus {...form.getInputProps('address')} />
      <PasswordField label={t.access.password} autoComplete="current-password" {...form.getInputProps('password')} />
      {needsCode && <CodeField {...form.getInputProps('code')} />}
    </AccessForm>
  );
}

type LinkKind = RouteReply<typeof consoleApi.inspectLink>['kind'];

/** `/set-up#…`, `/invitation#…`, `/recover#…`: what follows the # is the token, which no log and no proxy sees. */
export function LinkPage(): ReactNode {
  const t = useTexts();
  const token = useHash({ getInitialValueInEffect: false })[0].slice(1);
  const link = useQuery({
    queryKey: ['link', token],
    queryFn: () => call(consoleApi.inspectLink, { body: { token } }),
    retry: false,
    staleTime: Infinity,
  });
  const title = link.data === undefined ? t.access.link : t.access.titles[link.data.kind];
  const hasPasswords = useQuery(sessionQuery).data?.hasPasswords !== false;
  return (
    <AccessPage title={title}>
      <Answer of={link} lines={3}>
        {({ kind, name, address }) => (
          <>
            <Text>{hasPasswords ? t.access.says[kind] : t.issuer.says[kind]}</Text>
            {hasPasswords && (
              <LinkForm key={token} token={token} kind={kind} name={name ?? ''} address={address ?? ''} />
            )}
            {!hasPasswords && kind === 'invitation' && <IssuerForm />}
          </>
        )}
      </Answer>
    </AccessPage>
  );
}

type LinkFormProps = Readonly<Record<'address' | 'name' | 'token', string>> & { readonly kind: LinkKind };

function LinkForm({ token, kind, name, address }: LinkFormProps): ReactNode {
  const t = useTexts();
  const isSetUp = kind === 'setUp';
  const issuer = useIssuer();
  const form = useForm({
    initialValues: { name, address, password: '' },
    validate: {
      name: (value) => (value.trim() === '' ? t.access.nameWanted : null),
      address: (value) => (/^[^\s@]+@[^\s@]+$/.test(value) ? null : t.access.addressWanted),
      password: (value) => passwordMistake(t, value),
    },
  });
  const submit = () => {
    const values = form.getValues();
    if (isSetUp) return call(consoleApi.setUp, { body: { token, ...values } });
    return call(consoleApi.useLink, { body: { token, name: values.name, password: values.password } });
  };
  return (
    <AccessForm
      button={t.access.buttons[kind]}
      form={form}
      submit={submit}
      others={kind === 'invitation' ? issuer : []}
    >
      <TextInput label={t.access.name} autoComplete="name" {...form.getInputProps('name')} />
      <AddressField readOnly={!isSetUp} {...form.getInputProps('address')} />
      <NewPasswordField {...form.getInputProps('password')} />
    </AccessForm>
  );
}

/** `/api/oidc/callback?…`: where the issuer leads back to. The answer is used once; it leaves the address bar. */
export function FinishPage(): ReactNode {
  const t = useTexts();
  const enter = useEnter();
  const queries = useQueryClient();
  const [response] = useState(() => location.search.slice(1));
  const { data, error } = useQuery({
    queryKey: ['issuer', response],
    queryFn: () => call(consoleApi.finishOidc, { body: { response } }),
    retry: false,
    staleTime: Infinity,
  });
  useEffect(() => history.replaceState(history.state, '', location.pathname), []);
  useEffect(() => {
    if (data === undefined) return;
    noteIssuerFinished();
    if (data.purpose === 'signIn') void enter(data.session, data.to ?? undefined);
    if (data.purpose === 'connection') void enter(data.session, '/profile');
    if (data.purpose === 'proof') queries.setQueryData(sessionQuery.queryKey, data.session);
    // eslint-disable-next-line react-hooks/exhaustive-deps -- once for an answer
  }, [data]);
  return (
    <AccessPage title={t.access.signIn}>
      {error === null ? (
        <Text role="status">{data?.purpose === 'proof' ? t.issuer.proven : t.issuer.goesOn}</Text>
      ) : (
        <>
          <Failure error={error} />
          <Button component={Link} to="/">
            {t.issuer.back}
          </Button>
        </>
      )}
    </AccessPage>
  );
}
