import { Button, Group, Text } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useEffect, useState } from 'react';
import { consoleApi } from '#console-api';
import { call } from '../api/call';
import { sessionQuery, useSession } from '../api/queries';
import { noteIssuerFinished } from '../api/sign-in';
import { ActButton } from '../parts/dialogs';
import { Failure, Panel } from '../parts/panel';
import { useTexts } from '../texts/texts';
import { AccessPage, useEnter } from './access';

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

export function IssuerPanel(): ReactNode {
  const t = useTexts();
  const queries = useQueryClient();
  const { issuer, operator, hasPasswords } = useSession();
  if (issuer === null || operator === null) return null;
  const isOnlyWay = !hasPasswords || !operator.hasPassword;
  const button = operator.isConnected ? (
    <ActButton
      title={t.issuer.disconnect}
      says={t.issuer.disconnectSays}
      button={t.acts.remove}
      route={consoleApi.disconnectOidc}
      input={{}}
      done={() => t.acts.saved}
      then={() => queries.invalidateQueries({ queryKey: sessionQuery.queryKey })}
    />
  ) : (
    <ActButton
      text={t.issuer.connect}
      route={consoleApi.connectOidc}
      input={{}}
      then={({ url }) => location.assign(url)}
    />
  );
  return (
    <Panel title={issuer}>
      <Text>{operator.isConnected ? t.issuer.connected : t.issuer.notConnected}</Text>
      {operator.isConnected && isOnlyWay ? <Text>{t.issuer.onlyWay}</Text> : <Group>{button}</Group>}
    </Panel>
  );
}
