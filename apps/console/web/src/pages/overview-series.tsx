import { SimpleGrid, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { consoleApi, PUSH_SERIES_DAYS, type Series } from '#console-api';
import { useApp, useRead } from '../api/queries';
import { Answer, Panel } from '../parts/panel';
import { DataTable } from '../table/data-table';
import { useFormats, useTexts } from '../texts/texts';

const EVERY_MS = 300_000;

export function OverviewSeries(): ReactNode {
  const { appId } = useApp();
  const t = useTexts();
  const answer = useRead(consoleApi.getSeries, { params: { appId } }, { everyMs: EVERY_MS });
  return (
    <Panel title={t.series.title}>
      <Answer of={answer}>{(series) => <Plots series={series} />}</Answer>
      <Text c="dimmed">{t.series.says}</Text>
    </Panel>
  );
}

function Plots({ series: { days, users, messages, pushes, connected } }: { readonly series: Series }): ReactNode {
  const t = useTexts();
  const { signUps, logins, sent, dead, queued, acknowledged, most } = t.series;
  const hours = connected?.hours.map(minuteOf) ?? [];
  const plots: readonly PlotProps[] = [
    { title: signUps, times: days, bars: users && { [signUps]: users.signUps } },
    { title: logins, times: days, bars: users && { [logins]: users.logins } },
    { title: t.series.messages, times: days, bars: messages && { [sent]: messages.sent, [dead]: messages.dead } },
    {
      title: t.series.pushes,
      times: days.slice(-PUSH_SERIES_DAYS),
      bars: pushes && { [queued]: pushes.queued, [acknowledged]: pushes.acknowledged },
    },
    { title: t.series.connectedByDay, times: days, bars: connected && { [most]: connected.byDay }, isPeak: true },
    { title: t.series.connectedByHour, times: hours, bars: connected && { [most]: connected.byHour }, isByHour: true },
  ];
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }} spacing="lg">
      {plots.map((plot) => (
        <Plot key={plot.title} {...plot} />
      ))}
    </SimpleGrid>
  );
}

interface PlotProps {
  readonly title: string;
  readonly times: readonly string[];
  /** Numbers by time under their name, of two names at most; null: the service has not answered. */
  readonly bars: Readonly<Record<string, readonly Value[]>> | null;
  readonly isPeak?: boolean;
  readonly isByHour?: boolean;
}

type Value = number | null;
type Bars = NonNullable<PlotProps['bars']>;

/** Bars by day or hour, with their totals in words, and the same numbers as a table. */
function Plot({ title, times, bars, isByHour = false, isPeak = isByHour }: PlotProps): ReactNode {
  const t = useTexts();
  const shown = useShown();
  const totals = Object.entries(bars ?? {}).map(([name, values]) =>
    t.series.sum(name, shown((isPeak ? mostOf : sumOf)(values))),
  );
  const describes = isByHour ? t.series.sum : t.series.describes;
  return (
    <figure className="plot">
      <figcaption>
        <Text size="md" fw={600}>
          {title}
        </Text>
        <ul className="list legend">
          {totals.map((total) => (
            <li key={total}>{total}</li>
          ))}
        </ul>
      </figcaption>
      {bars === null ? (
        <Text>{t.series.away}</Text>
      ) : (
        <>
          <BarChart label={describes(title, totals.join(', '))} times={times} bars={bars} />
          <details>
            <summary>{t.series.figures(title)}</summary>
            <BarTable label={title} unit={isByHour ? t.series.hour : t.series.day} times={times} bars={bars} />
          </details>
        </>
      )}
    </figure>
  );
}

function sumOf(values: readonly Value[]): number {
  return values.reduce<number>((sum, each) => sum + (each ?? 0), 0);
}

function mostOf(values: readonly Value[]): Value {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : Math.max(...known);
}

function minuteOf(time: string): string {
  return time.slice(0, 16).replace('T', ' ');
}

function useShown(): (value: Value) => string {
  const { number } = useFormats();
  return (value) => (value === null ? '–' : number(value));
}

const BAR_WIDTH = 10;
const HEIGHT = 60;

interface BarChartProps {
  readonly label: string;
  readonly times: readonly string[];
  readonly bars: Bars;
}

function BarChart({ label, times, bars }: BarChartProps): ReactNode {
  const shown = useShown();
  const all = Object.values(bars);
  const most = Math.max(1, ...all.flat().map((value) => value ?? 0));
  const width = (BAR_WIDTH - 2) / all.length;
  return (
    <svg
      role="img"
      aria-label={label}
      viewBox={`0 0 ${BAR_WIDTH * times.length} ${HEIGHT}`}
      height={HEIGHT}
      preserveAspectRatio="none"
    >
      {all.map((values, place) => (
        <g key={place}>
          {values.map((value, index) => {
            const height = ((value ?? 0) / most) * HEIGHT;
            const x = index * BAR_WIDTH + 1 + width * place;
            return (
              <rect key={times[index]} x={x} y={HEIGHT - height} width={width} height={height}>
                <title>{`${times[index] ?? ''}: ${shown(value)}`}</title>
              </rect>
            );
          })}
        </g>
      ))}
    </svg>
  );
}

function BarTable({ label, unit, times, bars }: BarChartProps & { readonly unit: string }): ReactNode {
  const shown = useShown();
  const numbers = Object.entries(bars).map(([header, values]) => ({
    header,
    isNumber: true,
    cell: (time: string) => shown(values[times.indexOf(time)] ?? null),
  }));
  return (
    <DataTable
      label={label}
      rows={times}
      idOf={String}
      columns={[{ header: unit, cell: (time) => time }, ...numbers]}
    />
  );
}
