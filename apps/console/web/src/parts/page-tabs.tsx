import { Tabs } from '@mantine/core';
import { type ReactNode, useState } from 'react';

interface PageTabsProps<Tab extends string> {
  readonly tabs: readonly Tab[];
  readonly shown: Tab;
  readonly labels: Readonly<Record<Tab, string>>;
  readonly onChange: (tab: Tab | undefined) => void;
  /** One that was shown keeps what is typed in it. */
  readonly panels: Readonly<Record<Tab, ReactNode>>;
}

/** The parts of a page; the URL names the shown one. */
export function PageTabs<Tab extends string>(props: PageTabsProps<Tab>): ReactNode {
  const { tabs, shown, labels, onChange, panels } = props;
  const [visited, setVisited] = useState([shown]);
  if (!visited.includes(shown)) setVisited([...visited, shown]);
  return (
    <Tabs value={shown} onChange={(value) => onChange(tabs.find((each) => each === value))}>
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
