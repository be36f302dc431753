import { Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useEffect, useState } from 'react';
import { consoleApi, type Session } from '#console-api';
import { call, type Gate, setGateDialog } from '../api/call';
import { knownOperator, sessionQuery } from '../api/queries';
import { passAtIssuer, proveByPasskey, signInByPasskey } from '../api/sign-in';
import { FormDialog } from '../parts/dialogs';
import { AddressField, CodeField, onText, PasswordField } from '../parts/fields';
import { forgetUnsaved, useCode, type Way } from '../parts/forms';
import { type Texts, useTexts } from '../texts/texts';

interface Asked {
  readonly id: number;
  readonly gate: Gate;
  readonly answer: (hasPassed: boolean) => void;
}

/** The dialog where the session is over, or an act needs the password again. The sign-in comes first: a proof needs a session. */
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
  const [code, setCode] = useState('');
  const { isNeeded: needsCode, ask } = useCode();
  const [session] = useState(() => queries.getQueryData<Session>(sessionQuery.queryKey));
  const [operator] = useState(knownOperator);
  const [address, setAddress] = useState(operator?.address ?? '');
  const byPassword = () => {
    const given = needsCode ? { password, code } : { password };
    return ask(
      gate === 'proof'
        ? call(consoleApi.prove, { body: given })
        : call(consoleApi.signIn, { body: { address, ...given } }),
    );
  };
  const passing = (act: () => Promise<Session>) => async () => {
    const passed = await act();
    // Another operator may see other data, and does not repeat what the first one began.
    if (operator !== null && passed.operator?.id !== operator.id) {
      forgetUnsaved();
      window.location.reload();
      return;
    }
    // An answer to the token before this one would say that there is no session.
    await queries.cancelQueries({ queryKey: sessionQuery.queryKey });
    queries.setQueryData(sessionQuery.queryKey, passed);
    answer(true);
  };
  const open = openWays(session, operator);
  const says = saysOf(t, gate, open);
  const [first, ...others] = useWays(gate, open, byPassword);
  return (
    <FormDialog
      title={gate === 'proof' ? t.gates.proof : t.gates.signIn}
      submitText={first.text}
      submit={passing(first.submit)}
      others={others.map((way) => ({ ...way, submit: passing(way.submit) }))}
      onClose={() => answer(false)}
    >
      {says !== null && <Text>{says}</Text>}
      {open.byPassword && (
        <>
          {operator === null ? (
            <AddressField value={address} onChange={onText(setAddress)} required />
          ) : (
            <input type="text" autoComplete="username" value={operator.address} readOnly hidden />
          )}
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
      {needsCode && <CodeField value={code} onChange={onText(setCode)} required />}
    </FormDialog>
  );
}

interface OpenWays {
  readonly byPassword: boolean;
  readonly issuer: string | null;
}

/** How this operator can pass. All ways are open where the page knows no operator. */
function openWays(session: Session | undefined, operator: Session['operator']): OpenWays {
  if (session === undefined) return { byPassword: true, issuer: null };
  const { hasPasswords, issuer } = session;
  if (operator === null) return { byPassword: hasPasswords, issuer };
  return { byPassword: hasPasswords && operator.hasPassword, issuer: operator.isConnected ? issuer : null };
}

function useWays(
  gate: Gate,
  open: OpenWays,
  submit: Way<Session>['submit'],
): readonly [Way<Session>, ...Way<Session>[]] {
  const t = useTexts();
  const [start, usePasskey] =
    gate === 'proof' ? [consoleApi.startOidcProof, proveByPasskey] : [consoleApi.startOidc, signInByPasskey];
  const atIssuer = open.issuer === null ? [] : [{ text: t.issuer.use(open.issuer), submit: () => passAtIssuer(start) }];
  const passkey = { text: t.factors.usePasskey, submit: usePasskey };
  if (open.byPassword) return [{ text: t.acts.continue, submit }, ...atIssuer, passkey];
  return [atIssuer[0] ?? passkey];
}

function saysOf(t: Texts, gate: Gate, { byPassword, issuer }: OpenWays): string | null {
  if (gate === 'signIn') return t.gates.signInSays;
  if (byPassword) return t.gates.proofSays;
  return issuer === null ? null : t.issuer.proofSays;
}
