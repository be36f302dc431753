import { SimpleGrid, Table, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { consoleApi, PUSH_SERIES_DAYS, type Series } from '#console-api';
import { useRead } from '../api/queries';
import { Answer, Panel } from '../parts/panel';
import { useFormats } from '../texts/format';
import { useTexts } from '../texts/texts';

/** The services read the rows of thirty days. */
const EVERY_MS = 300_000;

/** Counts of the last thirty days as bar charts. */
export function OverviewSeries({ appId }: { readonly appId: string }): ReactNode {
  const t = useTexts();
  const answer = useRead(consoleApi.getSeries, { params: { appId } }, { everyMs: EVERY_MS });
  return (
    <Panel title={t.series.title}>
      <Answer of={answer}>{(series) => <Plots series={series} />}</Answer>
      <Text size="sm" c="dimmed">
        {t.series.says}
      </Text>
    </Panel>
  );
}

function Plots({ series: { days, users, messages, pushes } }: { readonly series: Series }): ReactNode {
  const t = useTexts();
  const { signUps, logins, sent, dead, queued, acknowledged } = t.series;
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }} spacing="lg">
      <Plot title={signUps} days={days} bars={users && { [signUps]: users.signUps }} />
      <Plot title={logins} days={days} bars={users && { [logins]: users.logins }} />
      <Plot title={t.series.messages} days={days} bars={messages && { [sent]: messages.sent, [dead]: messages.dead }} />
      <Plot
        title={t.series.pushes}
        days={days.slice(-PUSH_SERIES_DAYS)}
        bars={pushes && { [queued]: pushes.queued, [acknowledged]: pushes.acknowledged }}
      />
    </SimpleGrid>
  );
}

interface PlotProps {
  readonly title: string;
  readonly days: readonly string[];
  /** Numbers by day under their name, of two names at most; null: the service has not answered. */
  readonly bars: Readonly<Record<string, readonly number[]>> | null;
}

type Bars = NonNullable<PlotProps['bars']>;

/** Bars by day, with their sums in words, and the same numbers as a table. */
function Plot({ title, days, bars }: PlotProps): ReactNode {
  const t = useTexts();
  const { number } = useFormats();
  const sums = Object.entries(bars ?? {}).map(([name, values]) => t.series.sum(name, number(sumOf(values))));
  return (
    <figure className="plot">
      <figcaption>
        <Text fw={600}>{title}</Text>
        <ul className="list legend">
          {sums.map((sum) => (
            <li key={sum}>{sum}</li>
          ))}
        </ul>
      </figcaption>
      {bars === null ? (
        <Text size="sm">{t.series.away}</Text>
      ) : (
        <>
          <BarChart label={t.series.describes(title, sums.join(', '))} days={days} bars={bars} />
          <details>
            <summary>{t.series.figures(title)}</summary>
            <BarTable title={title} days={days} bars={bars} />
          </details>
        </>
      )}
    </figure>
  );
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, each) => sum + each, 0);
}

const DAY_WIDTH = 10;
const HEIGHT = 60;

interface BarChartProps {
  readonly label: string;
  readonly days: readonly string[];
  readonly bars: Bars;
}

function BarChart({ label, days, bars }: BarChartProps): ReactNode {
  const all = Object.values(bars);
  const most = Math.max(1, ...all.flat());
  const width = (DAY_WIDTH - 2) / all.length;
  return (
    <svg
      role="img"
      aria-label={label}
      viewBox={`0 0 ${DAY_WIDTH * days.length} ${HEIGHT}`}
      height={HEIGHT}
      preserveAspectRatio="none"
    >
      {all.map((values, place) => (
        <g key={place}>
          {values.map((value, day) => {
            const height = (value / most) * HEIGHT;
            const x = day * DAY_WIDTH + 1 + width * place;
            return (
              <rect key={days[day]} x={x} y={HEIGHT - height} width={width} height={height}>
                <title>{`${days[day] ?? ''}: ${value}`}</title>
              </rect>
            );
          })}
        </g>
      ))}
    </svg>
  );
}

function BarTable({ title, days, bars }: Omit<PlotProps, 'bars'> & { readonly bars: Bars }): ReactNode {
  const t = useTexts();
  const { number } = useFormats();
  return (
    <div className="scroll" role="region" aria-label={title} tabIndex={0}>
      <Table verticalSpacing={2} aria-label={title}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th scope="col">{t.series.day}</Table.Th>
            {Object.keys(bars).map((name) => (
              <Table.Th key={name} scope="col" className="number">
                {name}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {days.map((day, index) => (
            <Table.Tr key={day}>
              <Table.Td>{day}</Table.Td>
              {Object.entries(bars).map(([name, values]) => (
                <Table.Td key={name} className="number">
                  {number(values[index] ?? 0)}
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </div>
  );
}
