import { Button, Group, Text } from '@mantine/core';
import { useHotkeys } from '@mantine/hooks';
import { useIsMutating, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { consoleApi } from '#console-api';
import { call } from '../api/call';
import { useApp } from '../api/queries';
import { ActButton, AskButton, useNotices } from '../parts/dialogs';
import { ExportMenu } from '../parts/list-menus';
import { useProblem } from '../parts/panel';
import { useTexts } from '../texts/texts';

interface SelectionProps {
  readonly chosen: ReadonlySet<string>;
  readonly setChosen: (chosen: ReadonlySet<string>) => void;
}

export function SelectionBar({ chosen, setChosen }: SelectionProps): ReactNode {
  const t = useTexts();
  const { appId, may } = useApp();
  const clear = () => setChosen(new Set());
  const isActing = useIsMutating() > 0;
  const leave = ({ target }: KeyboardEvent) => {
    // In a dialog or menu the key closes only that, perhaps before this function runs.
    const isWithin = target instanceof Element && target.closest('[role=dialog], [role=menu]') !== null;
    if (!isActing && !isWithin) clear();
  };
  useHotkeys([['Escape', leave]]);
  return (
    <Group gap="sm" className="selection" role="toolbar" aria-label={t.table.chosen(chosen.size)}>
      <Text fw={600}>{t.table.chosen(chosen.size)}</Text>
      <ExportMenu text={t.exports.beginChosen} route={consoleApi.exportUsers} query={{ ids: [...chosen].join(',') }} />
      {may('users.write') && <EachActs chosen={chosen} />}
      <ActButton
        text={t.users.deleteThem}
        title={t.users.deleteTitle(chosen.size)}
        says={t.users.deleteSays}
        button={t.acts.delete}
        typed={String(chosen.size)}
        route={consoleApi.deleteUsers}
        input={{ params: { appId }, body: { userIds: [...chosen] } }}
        done={({ deleted }) => t.users.deleted(deleted)}
        then={clear}
      />
      <Button onClick={clear}>{t.table.clear}</Button>
    </Group>
  );
}

const EACH_ACTS = { endSession: consoleApi.endUserSession, sendVerification: consoleApi.sendVerification } as const;
type EachAct = keyof typeof EACH_ACTS;
const EACH_ACT_NAMES = Object.keys(EACH_ACTS) as EachAct[];

/** Acts that the page asks for once for each user. A notice then says how many were refused, and why. */
function EachActs({ chosen }: Pick<SelectionProps, 'chosen'>): ReactNode {
  const { appId } = useApp();
  const t = useTexts();
  const problem = useProblem();
  const notices = useNotices();
  const queries = useQueryClient();
  const [progress, setProgress] = useState('');
  const run = async (name: EachAct) => {
    setProgress('');
    const refusals = await forEach(
      [...chosen],
      (userId) => call(EACH_ACTS[name], { params: { appId, userId } }),
      (settled) => setProgress(t.users.each.progress(settled, chosen.size)),
    );
    const reasons = countsOf(
      refusals.map(problem).map(({ text, detail = text }) => (text === t.states.refused ? detail : text)),
    );
    const refused = [...reasons].map(([reason, count]) => t.users.each.refused(count, reason));
    notices.outcome([t.users.each.done(chosen.size - refusals.length, chosen.size), ...refused].join(' '));
    await queries.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== '/session' });
  };
  return (
    <>
      {EACH_ACT_NAMES.map((name) => (
        <AskButton
          key={name}
          text={t.users.each[name]}
          title={t.users.each.title(t.users.each[name], chosen.size)}
          says={
            <>
              {t.users.each.says[name]} <span role="status">{progress}</span>
            </>
          }
          onConfirm={() => run(name)}
        />
      ))}
    </>
  );
}

const AT_ONCE = 4;

async function forEach(
  ids: readonly string[],
  act: (id: string) => Promise<unknown>,
  onSettled: (settled: number) => void,
): Promise<Error[]> {
  const refusals: Error[] = [];
  const waiting = ids.values();
  let settled = 0;
  const work = async () => {
    for (const id of waiting) {
      await act(id).catch((error: unknown) => refusals.push(error as Error));
      settled += 1;
      onSettled(settled);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return refusals;
}

function countsOf(texts: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  return counts;
}
