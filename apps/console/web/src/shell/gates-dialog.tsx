import { Button, Group, Modal, PasswordInput, Stack, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, type SubmitEvent, useEffect, useState } from 'react';
import { consoleApi, type Session } from '#console-api';
import { call, type Gate, setGateDialog } from '../api/call';
import { passAtIssuer, proveByPasskey, signInByPasskey } from '../api/sign-in';
import { sessionQuery } from '../api/queries';
import { asksForCode, CodeField } from '../parts/fields';
import { Failure } from '../parts/panel';
import { type Texts, useTexts } from '../texts/texts';

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
  const [session] = useState(() => queries.getQueryData<Session>(sessionQuery.queryKey));
  const address = session?.operator?.address;
  const ways = waysOf(session);
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
          <Text size="sm">{saysOf(t, gate, ways)}</Text>
          {ways.password && <OwnPassword address={address} password={password} onChange={setPassword} />}
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
            <OtherWays gate={gate} ways={ways} isBusy={isBusy} onPass={(act) => void pass(act)} />
            <Button
              variant="default"
              onClick={() => {
                answer(false);
              }}
            >
              {t.acts.cancel}
            </Button>
            {ways.password && (
              <Button type="submit" loading={isBusy}>
                {t.acts.continue}
              </Button>
            )}
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

interface Ways {
  readonly password: boolean;
  /** The name of the issuer. */
  readonly issuer: string | null;
}

/** How this operator can pass. All ways are open where the page knows no operator. */
function waysOf(session: Session | undefined): Ways {
  if (session === undefined) return { password: true, issuer: null };
  const { operator, hasPasswords, issuer } = session;
  if (operator === null) return { password: hasPasswords, issuer };
  return { password: hasPasswords && operator.hasPassword, issuer: operator.isConnected ? issuer : null };
}

function saysOf(t: Texts, gate: Gate, { password }: Ways): string {
  if (gate === 'signIn') return t.gates.signInSays;
  return password ? t.gates.proofSays : t.issuer.proofSays;
}

interface OwnPasswordProps {
  readonly address: string | undefined;
  readonly password: string;
  readonly onChange: (password: string) => void;
}

function OwnPassword({ address = '', password, onChange }: OwnPasswordProps): ReactNode {
  const t = useTexts();
  return (
    <>
      <input type="text" autoComplete="username" value={address} readOnly hidden />
      <PasswordInput
        label={t.access.password}
        autoComplete="current-password"
        value={password}
        onChange={(event) => {
          onChange(event.currentTarget.value);
        }}
        visibilityToggleButtonProps={{ 'aria-label': t.access.showPassword }}
        required
        data-autofocus
      />
    </>
  );
}

interface OtherWaysProps {
  readonly gate: Gate;
  readonly ways: Ways;
  readonly isBusy: boolean;
  readonly onPass: (act: () => Promise<Session>) => void;
}

/** By the issuer, and by a passkey. */
function OtherWays({ gate, ways: { issuer, password }, isBusy, onPass }: OtherWaysProps): ReactNode {
  const t = useTexts();
  const isProof = gate === 'proof';
  return (
    <>
      {issuer !== null && (
        <Button
          variant={password ? 'default' : 'filled'}
          disabled={isBusy}
          onClick={() => {
            onPass(() => passAtIssuer(isProof ? consoleApi.startOidcProof : consoleApi.startOidc));
          }}
        >
          {t.issuer.use(issuer)}
        </Button>
      )}
      {password && (
        <Button
          variant="default"
          disabled={isBusy}
          onClick={() => {
            onPass(isProof ? proveByPasskey : signInByPasskey);
          }}
        >
          {t.factors.usePasskey}
        </Button>
      )}
    </>
  );
}
