import { Button, Group } from '@mantine/core';
import type { ReactNode } from 'react';
import { consoleApi, type RouteReply } from '#console-api';
import { useAct, useApp, useRead } from '../api/queries';
import { ActButton, useNotices } from '../parts/dialogs';
import { Answer, Empty, Panel } from '../parts/panel';
import { DataTable } from '../table/data-table';
import { useFormats } from '../texts/format';
import { useTexts } from '../texts/texts';
import { CredentialsButton, Stored } from './credentials';

type Vendor = RouteReply<typeof consoleApi.listVendors>['items'][number];
type Lanes = RouteReply<typeof consoleApi.listVendors>['lanes'];
type VendorWithLanes = Vendor & { readonly lanes: Lanes };

const lanesOf = ({ vendor, profile, part }: Vendor, lanes: Lanes) =>
  lanes.filter(({ lane }) => lane.startsWith(`${vendor}/${profile}/${part}/`));

export function VendorsTab(): ReactNode {
  const t = useTexts();
  const { number } = useFormats();
  const { appId, may } = useApp();
  const vendors = useRead(consoleApi.listVendors, { params: { appId } });
  const set = useAct(consoleApi.setVendor);
  const addButton = (
    <CredentialsButton
      title={t.credentials.add}
      kinds={vendors.data?.kinds ?? []}
      name={{ label: t.credentials.profile, initial: '_default' }}
      submit={async (vendor, fields, profile) => {
        const { problem } = await set.mutateAsync({ params: { appId }, body: { vendor, profile, fields } });
        return problem === null ? undefined : t.credentials.savedWith(problem);
      }}
    />
  );
  return (
    <Panel title={t.settings.tabs.vendors} acts={may('platforms.write') && addButton}>
      <Answer of={vendors}>
        {({ items, lanes }) => (
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
                cell: (each) => may('platforms.write') && <VendorActs vendor={each} />,
              },
            ]}
          />
        )}
      </Answer>
    </Panel>
  );
}

function VendorActs({ vendor: { vendor, profile, part, lanes } }: { readonly vendor: VendorWithLanes }): ReactNode {
  const t = useTexts();
  const { appId } = useApp();
  const notices = useNotices();
  const change = useAct(consoleApi.changeVendorLanes);
  const isPaused = lanes.some((lane) => lane.isPaused);
  const body = { vendor, profile, part };
  const params = { appId };
  const write = (pauses: boolean) =>
    change.mutateAsync({ params, body: { ...body, change: pauses ? 'pause' : 'resume' } });
  const toggle = async () => {
    await write(!isPaused);
    notices.undoable(isPaused ? t.credentials.resumed : t.credentials.paused, () => write(isPaused));
  };
  return (
    <Group gap={4}>
      <ActButton
        text={t.credentials.check}
        route={consoleApi.checkVendor}
        input={{ params, body }}
        done={({ problem }) => problem ?? t.credentials.works}
      />
      <Button loading={change.isPending} onClick={() => void toggle().catch(notices.failed)}>
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
