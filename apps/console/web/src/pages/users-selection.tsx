import { Button, Group, Text } from '@mantine/core';
import { useHotkeys } from '@mantine/hooks';
import { type ReactNode, useState } from 'react';
import { consoleApi } from '#console-api';
import { useAct, useMay } from '../api/queries';
import { Confirm, useNotices } from '../parts/dialogs';
import { ExportMenu } from '../parts/export-menu';
import { useTexts } from '../texts/texts';

interface SelectionProps {
  readonly appId: string;
  readonly chosen: ReadonlySet<string>;
  readonly setChosen: (chosen: ReadonlySet<string>) => void;
}

/** The toolbar of the selected users: export, deletion, and the end of the selection. */
export function SelectionBar({ appId, chosen, setChosen }: SelectionProps): ReactNode {
  const t = useTexts();
  const may = useMay(appId);
  const notices = useNotices();
  const remove = useAct(consoleApi.deleteUsers);
  const [isAsking, setAsking] = useState(false);
  const clear = () => {
    setChosen(new Set());
  };
  useHotkeys([['Escape', clear]]);
  return (
    <Group gap="sm" className="selection" role="toolbar" aria-label={t.table.chosen(chosen.size)}>
      <Text size="sm" fw={600}>
        {t.table.chosen(chosen.size)}
      </Text>
      {may('users.export') && (
        <ExportMenu
          text={t.exports.beginChosen}
          route={consoleApi.exportUsers}
          inputOf={(format) => ({ params: { appId }, query: { ids: [...chosen].join(','), format } })}
        />
      )}
      {may('users.delete') && (
        <Button
          color="bad"
          variant="light"
          onClick={() => {
            setAsking(true);
          }}
        >
          {t.users.deleteThem}
        </Button>
      )}
      <Button variant="default" onClick={clear}>
        {t.table.clear}
      </Button>
      {isAsking && (
        <Confirm
          title={t.users.deleteTitle(chosen.size)}
          says={t.users.deleteSays}
          button={t.acts.delete}
          typed={String(chosen.size)}
          onConfirm={async () => {
            const { deleted } = await remove.mutateAsync({ params: { appId }, body: { userIds: [...chosen] } });
            notices.done(t.users.deleted(deleted));
            clear();
          }}
          onClose={() => {
            setAsking(false);
          }}
        />
      )}
    </Group>
  );
}
