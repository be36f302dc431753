import { Button, Group, Modal, PasswordInput, Stack, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, type SubmitEvent, useEffect, useState } from 'react';
import { consoleApi } from '#console-api';
import { call } from '../api/call';
import { type Gate, setGateDialog } from '../api/gates';
import { sessionQuery } from '../api/queries';
import { Failure } from '../parts/panel';
import { useTexts } from '../texts/texts';

interface Asked {
  readonly gate: Gate;
  readonly answer: (hasPassed: boolean) => void;
}

/** The dialog over the page where the session is over, or where an act needs the password again. */
export function Gates(): ReactNode {
  const [asked, setAsked] = useState<Asked>();
  useEffect(
    () =>
      setGateDialog(
        (gate) =>
          new Promise((resolve) => {
            setAsked({
              gate,
              answer: (hasPassed) => {
                setAsked(undefined);
                resolve(hasPassed);
              },
            });
          }),
      ),
    [],
  );
  return asked === undefined ? null : <GateDialog {...asked} />;
}

function GateDialog({ gate, answer }: Asked): ReactNode {
  const t = useTexts();
  const queries = useQueryClient();
  const [password, setPassword] = useState('');
  const [error, setError] = useState<Error>();
  const [isBusy, setBusy] = useState(false);
  const [address] = useState(
    () => queries.getQueryData<{ operator: { address: string } | null }>(sessionQuery.queryKey)?.operator?.address,
  );
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    setBusy(true);
    try {
      const session =
        gate === 'proof'
          ? await call(consoleApi.prove, { body: { password } })
          : await call(consoleApi.signIn, { body: { address: address ?? '', password } });
      queries.setQueryData(sessionQuery.queryKey, session);
      answer(true);
    } catch (failure) {
      setError(failure as Error);
      setBusy(false);
    }
  };
  return (
    <Modal
      opened
      onClose={() => {
        answer(false);
      }}
      title={gate === 'proof' ? t.gates.proof : t.gates.signIn}
      closeButtonProps={{ 'aria-label': t.acts.close }}
    >
      <form onSubmit={(event) => void submit(event)}>
        <Stack gap="md">
          <Text size="sm">{gate === 'proof' ? t.gates.proofSays : t.gates.signInSays}</Text>
          <input type="text" autoComplete="username" value={address ?? ''} readOnly hidden />
          <PasswordInput
            label={t.access.password}
            autoComplete="current-password"
            value={password}
            onChange={(event) => {
              setPassword(event.currentTarget.value);
            }}
            visibilityToggleButtonProps={{ 'aria-label': t.access.showPassword }}
            required
            data-autofocus
          />
          {error !== undefined && <Failure error={error} />}
          <Group justify="flex-end">
            <Button
              variant="default"
              onClick={() => {
                answer(false);
              }}
            >
              {t.acts.cancel}
            </Button>
            <Button type="submit" loading={isBusy}>
              {t.acts.continue}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
