import { Button, Group, Modal, PasswordInput, Stack, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, type SubmitEvent, useEffect, useState } from 'react';
import { consoleApi, type Session } from '#console-api';
import { call } from '../api/call';
import { type Gate, setGateDialog } from '../api/gates';
import { proveByPasskey, signInByPasskey } from '../api/passkeys';
import { sessionQuery } from '../api/queries';
import { asksForCode, CodeField } from '../parts/code-field';
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
  const [code, setCode] = useState<string>();
  const [error, setError] = useState<Error>();
  const [isBusy, setBusy] = useState(false);
  const [address] = useState(
    () => queries.getQueryData<{ operator: { address: string } | null }>(sessionQuery.queryKey)?.operator?.address,
  );
  const pass = async (act: () => Promise<Session>) => {
    setBusy(true);
    setError(undefined);
    try {
      queries.setQueryData(sessionQuery.queryKey, await act());
      answer(true);
    } catch (failure) {
      if (asksForCode(failure as Error)) setCode('');
      else setError(failure as Error);
      setBusy(false);
    }
  };
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const given = code === undefined ? { password } : { password, code };
    void pass(() =>
      gate === 'proof'
        ? call(consoleApi.prove, { body: given })
        : call(consoleApi.signIn, { body: { address: address ?? '', ...given } }),
    );
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
      <form onSubmit={submit}>
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
          {code !== undefined && (
            <CodeField
              value={code}
              onChange={(event) => {
                setCode(event.currentTarget.value);
              }}
              required
            />
          )}
          {error !== undefined && <Failure error={error} />}
          <Group justify="flex-end">
            <Button
              variant="default"
              disabled={isBusy}
              onClick={() => void pass(gate === 'proof' ? proveByPasskey : signInByPasskey)}
            >
              {t.factors.usePasskey}
            </Button>
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
