import { Tabs } from '@mantine/core';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';

interface PageTabsProps<Tab extends string> {
  readonly labels: Readonly<Record<Tab, string>>;
  /** In their order. One that was shown keeps what is typed in it. */
  readonly panels: Readonly<Record<Tab, ReactNode>>;
}

/** The parts of a page. The URL names the shown one; without a name it is the first. */
export function PageTabs<Tab extends string>({ labels, panels }: PageTabsProps<Tab>): ReactNode {
  const tabs = Object.keys(panels) as Tab[];
  const navigate = useNavigate();
  const { tab } = useSearch({ strict: false });
  const [first = null] = tabs;
  const shown = tabs.find((each) => each === tab) ?? first;
  const [visited, setVisited] = useState([shown]);
  if (!visited.includes(shown)) setVisited([...visited, shown]);
  const open = (chosen: string | null) =>
    void navigate({ to: '.', search: (old) => ({ ...old, tab: chosen as typeof tab }) });
  return (
    <Tabs value={shown} onChange={open}>
      <Tabs.List mb="md" className="tabs">
        {tabs.map((each) => (
          <Tabs.Tab key={each} value={each}>
            {labels[each]}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {tabs.map((each) => (
        <Tabs.Panel key={each} value={each}>
          {visited.includes(each) && panels[each]}
        </Tabs.Panel>
      ))}
    </Tabs>
  );
}
