import { Alert, Badge, Button, Group, SimpleGrid, Stack, Text } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { consoleApi, type RouteReply } from '#console-api';
import { useMay, useRead } from '../api/queries';
import { ActButton } from '../parts/dialogs';
import { Answer, Bdi, CodeBlock, Empty, Icon, Page, Panel } from '../parts/panel';
import { DataTable } from '../table/data-table';
import { useFormats, useTexts, When } from '../texts/texts';

const EVERY_MS = 5_000;
/** Findings change with the configuration. */
const FINDINGS_EVERY_MS = 60_000;
type Process = RouteReply<typeof consoleApi.getHealth>['processes'][number];

export function HealthPage(): ReactNode {
  const t = useTexts();
  const mayLook = useMay('*')('deadLetters.write');
  const health = useRead(consoleApi.getHealth, {}, { everyMs: EVERY_MS });
  return (
    <Page title={t.pages.health}>
      <Answer of={health}>
        {({ processes, silent }) => {
          const isWell = silent.length === 0 && processes.every(isProcessWell);
          const [color, icon] = isWell ? (['good', 'check'] as const) : (['bad', 'warning'] as const);
          return (
            <Stack>
              <Alert
                color={color}
                icon={<Icon name={icon} />}
                title={t.health[isWell ? 'well' : 'unwell']}
                role="status"
              >
                {silent.length > 0 && silent.map((service) => <Text key={service}>{t.health.silent(service)}</Text>)}
              </Alert>
              <SimpleGrid cols={{ base: 1, md: 2, xl: 3 }}>
                {processes.map((process) => (
                  <ProcessPanel key={`${process.service} ${process.instance}`} process={process} />
                ))}
              </SimpleGrid>
            </Stack>
          );
        }}
      </Answer>
      <Findings />
      {mayLook && <DeadLetters />}
    </Page>
  );
}

function isProcessWell({ problems, servers }: Process): boolean {
  return problems.length === 0 && servers.every(({ problem }) => problem === null);
}

function ProcessPanel({ process }: { readonly process: Process }): ReactNode {
  const t = useTexts();
  return (
    <Panel
      title={process.service}
      acts={
        <Badge color={isProcessWell(process) ? 'good' : 'bad'}>
          {isProcessWell(process) ? t.health.ready : t.health.notReady}
        </Badge>
      }
    >
      <Text c="dimmed">{t.health.process(process.host, process.pid, process.version, process.node)}</Text>
      {process.problems.map((problem) => (
        <Text key={problem} lang="en">
          {problem}
        </Text>
      ))}
      <dl className="facts">
        {process.servers.map(({ name, problem, version, skewMs }) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd lang="en">
              {problem ?? version ?? t.health.answers}
              {skewMs !== null && Math.abs(skewMs) > 500 && ` · ${t.health.skew(skewMs)}`}
            </dd>
          </div>
        ))}
      </dl>
    </Panel>
  );
}

function Findings(): ReactNode {
  const t = useTexts();
  const findings = useRead(consoleApi.getFindings, {}, { everyMs: FINDINGS_EVERY_MS });
  return (
    <Panel title={t.health.findings}>
      <Answer of={findings} lines={2}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty title={t.health.noFindings} />
          ) : (
            <ul className="list">
              {items.map(({ problem, remedy, isAdvice }) => (
                <li key={problem}>
                  <Badge color={isAdvice ? 'gray' : 'bad'}>{isAdvice ? t.health.advice : t.health.problem}</Badge>
                  <Text lang="en">{problem}</Text>
                  <Text c="dimmed" lang="en">
                    {remedy}
                  </Text>
                </li>
              ))}
            </ul>
          )
        }
      </Answer>
      <Text c="dimmed">{t.health.findingsSays}</Text>
    </Panel>
  );
}

function DeadLetters(): ReactNode {
  const t = useTexts();
  const { number } = useFormats();
  const dead = useRead(consoleApi.listDeadLetters, {}, { everyMs: EVERY_MS });
  const [service, setService] = useState<string>();
  return (
    <Panel title={t.health.deadLetters}>
      <Answer of={dead} lines={3}>
        {({ services }) =>
          services === null ? (
            <Empty title={t.health.noQueues} says={t.health.noQueuesSays} />
          ) : (
            <DataTable
              label={t.health.deadLetters}
              rows={services}
              idOf={(each) => each.service}
              columns={[
                { header: t.health.service, cell: (each) => each.service },
                { header: t.health.messages, isNumber: true, cell: ({ messages }) => number(messages) },
                {
                  header: t.table.acts,
                  cell: (each) => (
                    <Button disabled={each.messages === 0} onClick={() => setService(each.service)}>
                      {t.health.look}
                    </Button>
                  ),
                },
              ]}
            />
          )
        }
      </Answer>
      {service !== undefined && <LettersOf key={service} service={service} />}
    </Panel>
  );
}

function LettersOf({ service }: { readonly service: string }): ReactNode {
  const t = useTexts();
  const { number } = useFormats();
  const letters = useRead(consoleApi.peekDeadLetters, { params: { service }, body: { limit: 10 } });
  return (
    <Stack gap="sm">
      <Answer of={letters}>
        {({ items }) => (
          <Stack gap="sm">
            {items.map(({ pattern, reason, diedAt, body }, index) => (
              <Stack key={index} gap={2}>
                <Group gap="xs" fz="sm">
                  <strong>{pattern}</strong>
                  <When at={diedAt} />
                  <Bdi lang="en">{reason}</Bdi>
                </Group>
                <CodeBlock>{body}</CodeBlock>
              </Stack>
            ))}
          </Stack>
        )}
      </Answer>
      <Group gap="xs">
        <ActButton
          title={t.health.replay}
          says={t.health.replaySays(service)}
          route={consoleApi.replayDeadLetters}
          input={{ params: { service } }}
          done={({ replayed }) => t.health.replayed(number(replayed))}
        />
        <ActButton
          title={t.health.drop}
          says={t.health.dropSays}
          typed={service}
          route={consoleApi.dropDeadLetters}
          input={{ params: { service } }}
          done={({ dropped }) => t.health.dropped(number(dropped))}
        />
      </Group>
    </Stack>
  );
}
