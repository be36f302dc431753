// The dashboard as Grafana imports it. It names no data source and has no id of its own: both are chosen at the import.
import { MESSAGE_ROWS } from './message-rows.mjs';
import { REQUEST_ROWS } from './request-rows.mjs';

const ROWS = [...REQUEST_ROWS, ...MESSAGE_ROWS];
const WIDTH = 24;
const TIMESERIES = { w: 8, h: 8 };
const STAT = { w: 4, h: 4 };
const DATASOURCE = { type: 'prometheus', uid: '${datasource}' };

export function dashboard() {
  return {
    title: 'Gatepost',
    description: 'Made by "npm run generate" from tools/dashboard. What to watch: docs/operations.md.',
    tags: ['gatepost'],
    schemaVersion: 39,
    editable: true,
    graphTooltip: 1,
    refresh: '30s',
    time: { from: 'now-3h', to: 'now' },
    templating: {
      list: [
        { name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus' },
        labelVariable('job', 'Service', 'label_values(gatepost_build_info, job)'),
        labelVariable('instance', 'Process', 'label_values(gatepost_build_info{job=~"$job"}, instance)'),
      ],
    },
    panels: panels(),
  };
}

function labelVariable(name, label, query) {
  return {
    name,
    label,
    type: 'query',
    datasource: DATASOURCE,
    query: { query, refId: name },
    refresh: 2,
    sort: 1,
    multi: true,
    includeAll: true,
    allValue: '.+',
    current: { text: 'All', value: '$__all' },
  };
}

/** Row after row, wrapped at the width. All panels of a row are of one size. */
function panels() {
  const placed = [];
  let y = 0;
  for (const row of ROWS) {
    placed.push({ type: 'row', title: row.title, collapsed: false, panels: [], gridPos: { x: 0, y, w: WIDTH, h: 1 } });
    y += 1;
    let x = 0;
    for (const panel of row.panels) {
      const { w, h } = sizeOf(panel);
      if (x + w > WIDTH) [x, y] = [0, y + h];
      placed.push({ ...shapeOf(panel), gridPos: { x, y, w, h } });
      x += w;
    }
    y += sizeOf(row.panels[0]).h;
  }
  return placed.map((panel, index) => ({ id: index + 1, ...panel }));
}

function sizeOf({ kind }) {
  return kind === 'stat' ? STAT : TIMESERIES;
}

function shapeOf({ kind = 'timeseries', title, help, unit = 'short', warnAt, queries }) {
  return {
    type: kind,
    title,
    ...(help === undefined ? {} : { description: help }),
    datasource: DATASOURCE,
    targets: queries.map(([expr, legendFormat], index) => ({
      refId: String.fromCharCode('A'.charCodeAt(0) + index),
      datasource: DATASOURCE,
      editorMode: 'code',
      expr,
      legendFormat,
    })),
    fieldConfig: {
      defaults: { unit, min: 0, ...(warnAt === undefined ? {} : { thresholds: thresholds(warnAt) }) },
      overrides: [],
    },
    options: kind === 'stat' ? STAT_OPTIONS : TIMESERIES_OPTIONS,
  };
}

const STAT_OPTIONS = { reduceOptions: { calcs: ['lastNotNull'] }, colorMode: 'value', graphMode: 'area' };
const TIMESERIES_OPTIONS = {
  legend: { displayMode: 'list', placement: 'bottom', showLegend: true },
  tooltip: { mode: 'multi', sort: 'desc' },
};

function thresholds(warnAt) {
  return {
    mode: 'absolute',
    steps: [
      { color: 'green', value: null },
      { color: 'red', value: warnAt },
    ],
  };
}
