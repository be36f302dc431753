import { Alert, Button, Code, Group, Stack, Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useQueryClient } from '@tanstack/react-query';
import { generate } from 'lean-qr';
import { type ReactNode, useState } from 'react';
import { consoleApi, type RouteReply } from '#console-api';
import { addPasskey } from '../api/sign-in';
import { sessionQuery, useAct, useRead, useSession } from '../api/queries';
import { CodeField } from '../parts/fields';
import { Confirm, Dialog, FormDialog, useNotices } from '../parts/dialogs';
import { Icon } from '../parts/icon';
import { Answer, CopyButton, Failure, Panel } from '../parts/panel';
import { DataTable } from '../table/data-table';
import { When } from '../texts/format';
import { useTexts } from '../texts/texts';

type Factors = RouteReply<typeof consoleApi.listMyFactors>;
type ChangedFactors = RouteReply<typeof consoleApi.addPasskey>;
type Open = 'codes' | 'passkey' | 'removeCodes' | { readonly passkey: Factors['passkeys'][number] };

/** The second factors of the operator's own account. */
export function SecondFactorsPanel(): ReactNode {
  const t = useTexts();
  const { needsSecondFactor } = useSession();
  const factors = useRead(consoleApi.listMyFactors, {});
  const [open, setOpen] = useState<Open>();
  const [recoveryCodes, setRecoveryCodes] = useState<readonly string[]>();
  const refresh = useRefresh();
  const close = () => {
    setOpen(undefined);
  };
  const added = ({ newRecoveryCodes }: ChangedFactors) => {
    close();
    if (newRecoveryCodes !== null) setRecoveryCodes(newRecoveryCodes);
    return refresh();
  };
  return (
    <Panel title={t.factors.title}>
      {needsSecondFactor && (
        <Alert color="warning" icon={<Icon name="lock" />}>
          {t.factors.needed}
        </Alert>
      )}
      <Text size="sm">{t.factors.says}</Text>
      <Answer of={factors} lines={3}>
        {(shown) => <FactorList factors={shown} open={setOpen} renewed={setRecoveryCodes} />}
      </Answer>
      {open === 'codes' && <CodesDialog onAdded={added} onClose={close} />}
      {open === 'passkey' && <PasskeyDialog onAdded={added} onClose={close} />}
      {open !== undefined && open !== 'codes' && open !== 'passkey' && (
        <RemoveDialog which={open} onRemoved={refresh} onClose={close} />
      )}
      {recoveryCodes !== undefined && (
        <RecoveryCodes
          codes={recoveryCodes}
          onClose={() => {
            setRecoveryCodes(undefined);
          }}
        />
      )}
    </Panel>
  );
}

/** Reads the session and the factors again. */
function useRefresh(): () => Promise<void> {
  const queries = useQueryClient();
  return async () => {
    await queries.invalidateQueries({ queryKey: sessionQuery.queryKey });
    await queries.invalidateQueries({ queryKey: [consoleApi.listMyFactors.path] });
  };
}

interface FactorListProps {
  readonly factors: Factors;
  readonly open: (dialog: Open) => void;
  readonly renewed: (codes: readonly string[]) => void;
}

function FactorList({ factors, open, renewed }: FactorListProps): ReactNode {
  const t = useTexts();
  const { hasCodes, recoveryCodes, passkeys } = factors;
  const renew = useAct(consoleApi.renewRecoveryCodes);
  return (
    <Stack gap="sm">
      {passkeys.length > 0 && (
        <DataTable
          label={t.factors.passkeys}
          rows={passkeys}
          idOf={({ id }) => id}
          columns={[
            { id: 'name', header: t.factors.passkey, cell: ({ name }) => <bdi>{name}</bdi> },
            {
              id: 'used',
              header: t.profile.used,
              cell: ({ lastUsedAt, createdAt }) => <When at={lastUsedAt ?? createdAt} />,
            },
            {
              id: 'acts',
              header: t.table.acts,
              cell: (passkey) => (
                <Button
                  variant="default"
                  onClick={() => {
                    open({ passkey });
                  }}
                >
                  {t.acts.remove}
                </Button>
              ),
            },
          ]}
        />
      )}
      <Text size="sm">{hasCodes ? t.factors.codesOn : t.factors.codesOff}</Text>
      {(hasCodes || passkeys.length > 0) && <Text size="sm">{t.factors.recoveryLeft(recoveryCodes)}</Text>}
      <Group gap="xs">
        <Button
          onClick={() => {
            open('passkey');
          }}
        >
          {t.factors.addPasskey}
        </Button>
        <Button
          variant="default"
          onClick={() => {
            open('codes');
          }}
        >
          {hasCodes ? t.factors.replaceCodes : t.factors.addCodes}
        </Button>
        {hasCodes && (
          <Button
            variant="default"
            onClick={() => {
              open('removeCodes');
            }}
          >
            {t.factors.removeCodes}
          </Button>
        )}
        {(hasCodes || passkeys.length > 0) && (
          <Button
            variant="default"
            loading={renew.isPending}
            onClick={() => {
              renew.mutate(
                {},
                {
                  onSuccess: ({ newRecoveryCodes }) => {
                    renewed(newRecoveryCodes ?? []);
                  },
                },
              );
            }}
          >
            {t.factors.renew}
          </Button>
        )}
      </Group>
      {renew.error !== null && <Failure error={renew.error} />}
    </Stack>
  );
}

interface AddProps {
  readonly onAdded: (factors: ChangedFactors) => Promise<void>;
  readonly onClose: () => void;
}

/** Shows a new secret, and confirms it by a first code. */
function CodesDialog({ onAdded, onClose }: AddProps): ReactNode {
  const t = useTexts();
  const begin = useAct(consoleApi.beginOneTimeCodes);
  const confirm = useAct(consoleApi.confirmOneTimeCodes);
  const form = useForm({
    initialValues: { code: '' },
    validate: { code: (value) => (/^\d{6}$/.test(value) ? null : t.factors.codeWanted) },
  });
  const { data } = begin;
  const submit = form.onSubmit((body) => {
    confirm.mutate({ body }, { onSuccess: (factors) => void onAdded(factors) });
  });
  return (
    <FormDialog
      title={t.factors.addCodes}
      submitText={data === undefined ? t.acts.continue : t.factors.confirm}
      onSubmit={(event) => {
        event.preventDefault();
        if (data === undefined) begin.mutate({});
        else submit(event);
      }}
      isPending={begin.isPending || confirm.isPending}
      error={confirm.error ?? begin.error}
      onClose={onClose}
    >
      <Text size="sm">{data === undefined ? t.factors.codesSays : t.factors.scan}</Text>
      {data !== undefined && (
        <>
          <QrCode text={data.uri} />
          <Group gap={4} wrap="nowrap">
            <Code className="wrap">{data.secret}</Code>
            <CopyButton value={data.secret} />
          </Group>
          <CodeField description={t.factors.firstCode} {...form.getInputProps('code')} />
        </>
      )}
    </FormDialog>
  );
}

function PasskeyDialog({ onAdded, onClose }: AddProps): ReactNode {
  const t = useTexts();
  const [error, setError] = useState<Error | null>(null);
  const [isPending, setPending] = useState(false);
  const form = useForm({
    initialValues: { name: '' },
    validate: { name: (value) => (value.trim() === '' ? t.access.nameWanted : null) },
  });
  const submit = form.onSubmit(async ({ name }) => {
    setPending(true);
    setError(null);
    try {
      await onAdded(await addPasskey(name.trim()));
    } catch (failure) {
      setError(failure as Error);
      setPending(false);
    }
  });
  return (
    <FormDialog
      title={t.factors.addPasskey}
      submitText={t.acts.continue}
      onSubmit={submit}
      isPending={isPending}
      error={error}
      onClose={onClose}
    >
      <Text size="sm">{t.factors.passkeySays}</Text>
      <TextInput label={t.access.name} maxLength={100} data-autofocus {...form.getInputProps('name')} />
    </FormDialog>
  );
}

interface RemoveProps {
  readonly which: 'removeCodes' | { readonly passkey: Factors['passkeys'][number] };
  readonly onRemoved: () => Promise<void>;
  readonly onClose: () => void;
}

function RemoveDialog({ which, onRemoved, onClose }: RemoveProps): ReactNode {
  const t = useTexts();
  const notices = useNotices();
  const removeCodes = useAct(consoleApi.removeOneTimeCodes);
  const removePasskey = useAct(consoleApi.removePasskey);
  return (
    <Confirm
      title={which === 'removeCodes' ? t.factors.removeCodes : t.factors.removePasskey(which.passkey.name)}
      says={t.factors.removeSays}
      button={t.acts.remove}
      onConfirm={async () => {
        if (which === 'removeCodes') await removeCodes.mutateAsync({});
        else await removePasskey.mutateAsync({ params: { passkeyId: which.passkey.id } });
        notices.done(t.acts.saved);
        await onRemoved();
      }}
      onClose={onClose}
    />
  );
}

function RecoveryCodes({
  codes,
  onClose,
}: {
  readonly codes: readonly string[];
  readonly onClose: () => void;
}): ReactNode {
  const t = useTexts();
  return (
    <Dialog title={t.factors.recovery} onClose={onClose}>
      <Stack gap="md">
        <Text size="sm">{t.factors.recoverySays}</Text>
        <Code block>{codes.join('\n')}</Code>
        <Group justify="flex-end">
          <CopyButton value={codes.join('\n')} />
          <Button onClick={onClose}>{t.factors.kept}</Button>
        </Group>
      </Stack>
    </Dialog>
  );
}

const QUIET_ZONE = 4;

/** Dark on light in both themes: cameras expect it. */
function QrCode({ text }: { readonly text: string }): ReactNode {
  const t = useTexts();
  const code = generate(text);
  const places = Array.from({ length: code.size * code.size }, (_, index) => index);
  const path = places
    .filter((index) => code.get(index % code.size, Math.floor(index / code.size)))
    .map((index) => `M${index % code.size} ${Math.floor(index / code.size)}h1v1h-1z`)
    .join('');
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
      <path d={path} fill="#000" />
    </svg>
  );
}
