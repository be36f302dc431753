import { Button, Text, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, type SubmitEvent, useEffect, useState } from 'react';
import { consoleApi, type Session } from '#console-api';
import { call, type Gate, setGateDialog } from '../api/call';
import { passAtIssuer, proveByPasskey, signInByPasskey } from '../api/sign-in';
import { knownOperator, sessionQuery } from '../api/queries';
import { FormDialog } from '../parts/dialogs';
import { asksForCode, CodeField, onText, PasswordField } from '../parts/fields';
import { type Texts, useTexts } from '../texts/texts';

interface Asked {
  readonly id: number;
  readonly gate: Gate;
  readonly answer: (hasPassed: boolean) => void;
}

/**
 * The dialog over the page where the session is over, or where an act needs the password again. Where both are asked, the sign-in comes
 * first: without a session no proof is possible.
 */
export function Gates(): ReactNode {
  const [asked, setAsked] = useState<readonly Asked[]>([]);
  useEffect(() => {
    let count = 0;
    return setGateDialog(
      (gate) =>
        new Promise((resolve) => {
          count += 1;
          const id = count;
          const answer = (hasPassed: boolean) => {
            setAsked((old) => old.filter((each) => each.id !== id));
            resolve(hasPassed);
          };
          setAsked((old) => [...old, { id, gate, answer }]);
        }),
    );
  }, []);
  const shown = asked.find(({ gate }) => gate === 'signIn') ?? asked[0];
  return shown === undefined ? null : <GateDialog key={shown.id} {...shown} />;
}

function GateDialog({ gate, answer }: Asked): ReactNode {
  const t = useTexts();
  const queries = useQueryClient();
  const [password, setPassword] = useState('');
  const [code, setCode] = useState<string>();
  const [session] = useState(() => queries.getQueryData<Session>(sessionQuery.queryKey));
  const [operator] = useState(knownOperator);
  const [address, setAddress] = useState(operator?.address ?? '');
  const ways = waysOf(session, operator);
  const pass = useMutation({
    mutationFn: (act: () => Promise<Session>) => act(),
    onSuccess: async (passed) => {
      // An answer to the token before this one would say that there is no session.
      await queries.cancelQueries({ queryKey: sessionQuery.queryKey });
      queries.setQueryData(sessionQuery.queryKey, passed);
      answer(true);
    },
    onError: (failure) => {
      if (asksForCode(failure)) setCode('');
    },
  });
  const submit = ({ currentTarget }: SubmitEvent<HTMLFormElement>) => {
    if (!currentTarget.reportValidity()) return;
    const given = code === undefined ? { password } : { password, code };
    pass.mutate(() =>
      gate === 'proof'
        ? call(consoleApi.prove, { body: given })
        : call(consoleApi.signIn, { body: { address, ...given } }),
    );
  };
  return (
    <FormDialog
      title={gate === 'proof' ? t.gates.proof : t.gates.signIn}
      submitText={t.acts.continue}
      onSubmit={submit}
      act={{ isPending: pass.isPending, error: asksForCode(pass.error) ? null : pass.error }}
      others={<OtherWays gate={gate} ways={ways} isBusy={pass.isPending} onPass={pass.mutate} />}
      hasButton={ways.password}
      onClose={() => answer(false)}
    >
      <Text size="sm">{saysOf(t, gate, ways)}</Text>
      {ways.password && (
        <>
          {gate === 'signIn' && operator === null && (
            <TextInput
              label={t.access.address}
              type="email"
              autoComplete="username"
              value={address}
              onChange={onText(setAddress)}
              required
            />
          )}
          {operator !== null && <input type="text" autoComplete="username" value={operator.address} readOnly hidden />}
          <PasswordField
            label={t.access.password}
            autoComplete="current-password"
            value={password}
            onChange={onText(setPassword)}
            required
            data-autofocus
          />
        </>
      )}
      {code !== undefined && <CodeField value={code} onChange={onText(setCode)} required />}
    </FormDialog>
  );
}

interface Ways {
  readonly password: boolean;
  /** The name of the issuer. */
  readonly issuer: string | null;
}

/** How this operator can pass. All ways are open where the page knows no operator. */
function waysOf(session: Session | undefined, operator: Session['operator']): Ways {
  if (session === undefined) return { password: true, issuer: null };
  const { hasPasswords, issuer } = session;
  if (operator === null) return { password: hasPasswords, issuer };
  return { password: hasPasswords && operator.hasPassword, issuer: operator.isConnected ? issuer : null };
}

function saysOf(t: Texts, gate: Gate, { password }: Ways): string {
  if (gate === 'signIn') return t.gates.signInSays;
  return password ? t.gates.proofSays : t.issuer.proofSays;
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
          onClick={() => onPass(() => passAtIssuer(isProof ? consoleApi.startOidcProof : consoleApi.startOidc))}
        >
          {t.issuer.use(issuer)}
        </Button>
      )}
      {password && (
        <Button variant="default" disabled={isBusy} onClick={() => onPass(isProof ? proveByPasskey : signInByPasskey)}>
          {t.factors.usePasskey}
        </Button>
      )}
    </>
  );
}
