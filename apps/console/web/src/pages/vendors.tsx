import { Button, Group } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import type { ReactNode } from 'react';
import { consoleApi, type RouteReply } from '#console-api';
import { useAct, useMay, useRead } from '../api/queries';
import { ActButton, useNotices } from '../parts/dialogs';
import { Answer, Empty, Panel } from '../parts/panel';
import { DataTable } from '../table/data-table';
import { useFormats } from '../texts/format';
import { useTexts } from '../texts/texts';
import { CredentialsForm, Stored, type TabProps } from './credentials';

type Vendor = RouteReply<typeof consoleApi.listVendors>['items'][number];
type Lanes = RouteReply<typeof consoleApi.listVendors>['lanes'];

const lanesOf = ({ vendor, profile, part }: Vendor, lanes: Lanes) =>
  lanes.filter(({ lane }) => lane.startsWith(`${vendor}/${profile}/${part}/`));

export function VendorsTab({ appId }: TabProps): ReactNode {
  const t = useTexts();
  const { number } = useFormats();
  const may = useMay(appId)('platforms.write');
  const notices = useNotices();
  const vendors = useRead(consoleApi.listVendors, { params: { appId } });
  const set = useAct(consoleApi.setVendor);
  const [isOpen, form] = useDisclosure(false);
  return (
    <Panel
      title={t.settings.tabs.vendors}
      acts={
        may && (
          <Button variant="default" onClick={form.open}>
            {t.credentials.add}
          </Button>
        )
      }
    >
      <Answer of={vendors}>
        {({ items, lanes, kinds }) => (
          <>
            <DataTable
              label={t.settings.tabs.vendors}
              rows={items.map((item) => ({ ...item, lanes: lanesOf(item, lanes) }))}
              empty={<Empty title={t.credentials.noVendors} says={t.credentials.noVendorsSays} />}
              idOf={({ vendor, profile, part }) => `${vendor} ${profile} ${part}`}
              columns={[
                { header: t.pushes.vendor, cell: ({ vendor }) => vendor },
                { header: t.credentials.profile, cell: ({ profile }) => profile },
                { header: t.credentials.fields, from: 'sm', cell: (stored) => <Stored stored={stored} /> },
                {
                  header: t.devices.waiting,
                  isNumber: true,
                  cell: ({ lanes: own }) => number(own.reduce((sum, { devices }) => sum + devices, 0)),
                },
                {
                  header: t.table.acts,
                  cell: (each) =>
                    may && (
                      <VendorActs appId={appId} vendor={each} isPaused={each.lanes.some(({ isPaused }) => isPaused)} />
                    ),
                },
              ]}
            />
            {isOpen && (
              <CredentialsForm
                title={t.credentials.add}
                kinds={kinds}
                name={{ label: t.credentials.profile, initial: '_default' }}
                submit={async (vendor, fields, profile) => {
                  const { problem } = await set.mutateAsync({ params: { appId }, body: { vendor, profile, fields } });
                  notices.done(problem === null ? t.acts.saved : t.credentials.savedWith(problem));
                }}
                onClose={form.close}
              />
            )}
          </>
        )}
      </Answer>
    </Panel>
  );
}

interface VendorActsProps extends TabProps {
  readonly vendor: Vendor;
  readonly isPaused: boolean;
}

function VendorActs({ appId, vendor: { vendor, profile, part }, isPaused }: VendorActsProps): ReactNode {
  const t = useTexts();
  const notices = useNotices();
  const check = useAct(consoleApi.checkVendor);
  const change = useAct(consoleApi.changeVendorLanes);
  const body = { vendor, profile, part };
  const params = { appId };
  const look = async () => {
    const { problem } = await check.mutateAsync({ params, body });
    notices.done(problem ?? t.credentials.works);
  };
  const pause = async () => {
    const act = (isNowPaused: boolean) =>
      change.mutateAsync({ params, body: { ...body, change: isNowPaused ? 'resume' : 'pause' } });
    await act(isPaused);
    notices.undoable(isPaused ? t.credentials.resumed : t.credentials.paused, () => act(!isPaused));
  };
  return (
    <Group gap={4}>
      <Button variant="default" loading={check.isPending} onClick={() => void look().catch(notices.failed)}>
        {t.credentials.check}
      </Button>
      <Button variant="default" loading={change.isPending} onClick={() => void pause().catch(notices.failed)}>
        {isPaused ? t.credentials.resume : t.credentials.pause}
      </Button>
      <ActButton
        text={t.acts.remove}
        title={t.credentials.remove(vendor)}
        says={t.credentials.removeVendorSays}
        typed={vendor}
        route={consoleApi.removeVendor}
        input={{ params, body }}
      />
    </Group>
  );
}
