import { Alert, Button, Code, Group, Stack, Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useQueryClient } from '@tanstack/react-query';
import { generate } from 'lean-qr';
import { toSvgPath } from 'lean-qr/extras/svg';
import { type ReactNode, useState } from 'react';
import { consoleApi, type RouteReply } from '#console-api';
import { sessionQuery, useAct, useRead, useSession } from '../api/queries';
import { addPasskey } from '../api/sign-in';
import { ActButton, Dialog, DialogButton, FormDialog } from '../parts/dialogs';
import { CodeField } from '../parts/fields';
import { Answer, Bdi, Copyable, CopyButton, Icon, Panel } from '../parts/panel';
import { DataTable } from '../table/data-table';
import { useTexts, When } from '../texts/texts';

type Factors = RouteReply<typeof consoleApi.listMyFactors>;
type ChangedFactors = RouteReply<typeof consoleApi.addPasskey>;

export function SecondFactorsPanel(): ReactNode {
  const t = useTexts();
  const { needsSecondFactor } = useSession();
  const factors = useRead(consoleApi.listMyFactors, {});
  const [recoveryCodes, setRecoveryCodes] = useState<string>();
  const close = () => setRecoveryCodes(undefined);
  const refresh = useRefresh();
  const added = ({ newRecoveryCodes }: ChangedFactors) => {
    if (newRecoveryCodes !== null) setRecoveryCodes(newRecoveryCodes.join('\n'));
    return refresh();
  };
  return (
    <Panel title={t.factors.title}>
      {needsSecondFactor && (
        <Alert color="warning" icon={<Icon name="lock" />}>
          {t.factors.needed}
        </Alert>
      )}
      <Text>{t.factors.says}</Text>
      <Answer of={factors} lines={3}>
        {(shown) => <FactorList factors={shown} added={added} />}
      </Answer>
      {recoveryCodes !== undefined && (
        <Dialog title={t.factors.recovery} onClose={close}>
          <Stack gap="md">
            <Text>{t.factors.recoverySays}</Text>
            <Code block>{recoveryCodes}</Code>
            <Group justify="flex-end">
              <CopyButton value={recoveryCodes} />
              <Button variant="filled" onClick={close}>
                {t.factors.kept}
              </Button>
            </Group>
          </Stack>
        </Dialog>
      )}
    </Panel>
  );
}

function useRefresh(): () => Promise<void> {
  const queries = useQueryClient();
  return async () => {
    await queries.invalidateQueries({ queryKey: sessionQuery.queryKey });
    await queries.invalidateQueries({ queryKey: [consoleApi.listMyFactors.path] });
  };
}

interface FactorListProps {
  readonly factors: Factors;
  readonly added: (factors: ChangedFactors) => Promise<void>;
}

function FactorList({ factors, added }: FactorListProps): ReactNode {
  const t = useTexts();
  const refresh = useRefresh();
  const { hasCodes, recoveryCodes, passkeys } = factors;
  return (
    <Stack gap="sm">
      {passkeys.length > 0 && (
        <DataTable
          label={t.factors.passkeys}
          rows={passkeys}
          idOf={({ id }) => id}
          columns={[
            { header: t.factors.passkey, cell: ({ name }) => <Bdi>{name}</Bdi> },
            { header: t.profile.used, cell: ({ lastUsedAt, createdAt }) => <When at={lastUsedAt ?? createdAt} /> },
            {
              header: t.table.acts,
              cell: ({ id, name }) => (
                <ActButton
                  text={t.acts.remove}
                  title={t.factors.removePasskey(name)}
                  says={t.factors.removeSays}
                  route={consoleApi.removePasskey}
                  input={{ params: { passkeyId: id } }}
                  done={() => t.acts.saved}
                  then={refresh}
                />
              ),
            },
          ]}
        />
      )}
      <Text>{hasCodes ? t.factors.codesOn : t.factors.codesOff}</Text>
      {(hasCodes || passkeys.length > 0) && <Text>{t.factors.recoveryLeft(recoveryCodes)}</Text>}
      <Group gap="xs">
        <DialogButton text={t.factors.addPasskey} dialog={<PasskeyDialog added={added} />} />
        <DialogButton
          text={hasCodes ? t.factors.replaceCodes : t.factors.addCodes}
          variant="default"
          dialog={<CodesDialog added={added} />}
        />
        {hasCodes && (
          <ActButton
            title={t.factors.removeCodes}
            says={t.factors.removeSays}
            button={t.acts.remove}
            route={consoleApi.removeOneTimeCodes}
            input={{}}
            done={() => t.acts.saved}
            then={refresh}
          />
        )}
        {(hasCodes || passkeys.length > 0) && (
          <ActButton
            title={t.factors.renew}
            says={t.factors.renewSays}
            route={consoleApi.renewRecoveryCodes}
            input={{}}
            then={added}
          />
        )}
      </Group>
    </Stack>
  );
}

function CodesDialog({ added }: Pick<FactorListProps, 'added'>): ReactNode {
  const t = useTexts();
  const begin = useAct(consoleApi.beginOneTimeCodes);
  const confirm = useAct(consoleApi.confirmOneTimeCodes);
  const form = useForm({
    initialValues: { code: '' },
    validate: { code: (value) => (/^\d{6}$/.test(value) ? null : t.factors.codeWanted) },
  });
  const { data } = begin;
  const submit = async () => {
    if (data !== undefined) return added(await confirm.mutateAsync({ body: form.getValues() }));
    await begin.mutateAsync({});
    return false;
  };
  return (
    <FormDialog
      title={t.factors.addCodes}
      submitText={data === undefined ? t.acts.continue : t.factors.confirm}
      form={data && form}
      submit={submit}
    >
      <Text>{data === undefined ? t.factors.codesSays : t.factors.scan}</Text>
      {data !== undefined && (
        <>
          <QrCode text={data.uri} />
          <Copyable value={data.secret} />
          <CodeField description={t.factors.firstCode} {...form.getInputProps('code')} />
        </>
      )}
    </FormDialog>
  );
}

function PasskeyDialog({ added }: Pick<FactorListProps, 'added'>): ReactNode {
  const t = useTexts();
  const form = useForm({
    initialValues: { name: '' },
    validate: { name: (value) => (value.trim() === '' ? t.access.nameWanted : null) },
  });
  const submit = async () => added(await addPasskey(form.getValues().name.trim()));
  return (
    <FormDialog title={t.factors.addPasskey} submitText={t.acts.continue} form={form} submit={submit}>
      <Text>{t.factors.passkeySays}</Text>
      <TextInput label={t.access.name} maxLength={100} data-autofocus {...form.getInputProps('name')} />
    </FormDialog>
  );
}

const QUIET_ZONE = 4;

/** Dark on light in both themes: cameras expect it. */
function QrCode({ text }: { readonly text: string }): ReactNode {
  const t = useTexts();
  const code = generate(text);
  const side = code.size + 2 * QUIET_ZONE;
  return (
    <svg
      viewBox={`${-QUIET_ZONE} ${-QUIET_ZONE} ${side} ${side}`}
      width="200"
      height="200"
      role="img"
      aria-label={t.factors.qrCode}
      shapeRendering="crispEdges"
    >
      <rect x={-QUIET_ZONE} y={-QUIET_ZONE} width={side} height={side} fill="#fff" />
      <path d={toSvgPath(code)} fill="#000" />
    </svg>
  );
}
