import type { ReactNode } from 'react';
import { useFormats } from '../texts/format';
import { useTexts } from '../texts/texts';

interface Point {
  readonly at: string;
  readonly value: number;
}

interface PlotProps {
  readonly title: string;
  readonly points: readonly Point[];
  /** A second line in the same scale. */
  readonly second?: { readonly title: string; readonly points: readonly Point[] };
}

const HEIGHT = 40;

/** A line over days, with the same numbers as a table for screen readers. */
export function Plot({ title, points, second }: PlotProps): ReactNode {
  const t = useTexts();
  const formats = useFormats();
  const top = Math.max(1, ...points.map(({ value }) => value), ...(second?.points ?? []).map(({ value }) => value));
  const width = Math.max(1, points.length - 1);
  const line = pathOf(points, top);
  const last = points.at(-1);
  if (last === undefined) return null;
  return (
    <figure className="figure">
      <figcaption>
        <span>{title}</span>
        <strong>{t.overview.today(formats.number(last.value))}</strong>
      </figcaption>
      <svg className="plot" viewBox={`0 0 ${width} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
        <path className="area" d={`${line}L${width} ${HEIGHT}L0 ${HEIGHT}Z`} />
        <path className="line" d={line} />
        {second !== undefined && <path className="line second" d={pathOf(second.points, top)} />}
      </svg>
      <div className="figure-ends">
        <span>{formats.day(points[0]?.at ?? last.at)}</span>
        <span>{t.overview.most(formats.number(top))}</span>
        <span>{formats.day(last.at)}</span>
      </div>
      <PlotTable title={title} points={points} {...(second === undefined ? {} : { second })} />
    </figure>
  );
}

function PlotTable({ title, points, second }: PlotProps): ReactNode {
  const t = useTexts();
  const formats = useFormats();
  const others = new Map(second?.points.map(({ at, value }) => [at, value]));
  return (
    <div className="unseen">
      <table>
        <caption>{title}</caption>
        <thead>
          <tr>
            <th scope="col">{t.common.day}</th>
            <th scope="col">{title}</th>
            {second !== undefined && <th scope="col">{second.title}</th>}
          </tr>
        </thead>
        <tbody>
          {points.map(({ at, value }) => (
            <tr key={at}>
              <th scope="row">{formats.day(at)}</th>
              <td>{formats.number(value)}</td>
              {second !== undefined && <td>{formats.number(others.get(at) ?? 0)}</td>}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function pathOf(points: readonly Point[], top: number): string {
  return points
    .map(({ value }, index) => `${index === 0 ? 'M' : 'L'}${index} ${HEIGHT - (value / top) * HEIGHT}`)
    .join('');
}
