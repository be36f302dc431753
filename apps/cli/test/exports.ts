import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import type { ImportVerdict, JsonObject } from '#contracts';
import type { Export, ExportRow } from '../src/export/export.types.js';
import { openExport } from '../src/export/open-export.js';
import { ImportSummary, type RowPlace } from '../src/import/import-summary.js';

type Content = string | Uint8Array;

/** The content of an export: each part's rows by `file className kind`. */
export interface ReadExport {
  readonly warnings: readonly string[];
  readonly isIncomplete: boolean;
  readonly parts: readonly string[];
  readonly rows: readonly ExportRow[];
}

/** A folder with the files, until `work` ends. */
export async function withFolder<T>(
  files: Readonly<Record<string, Content>>,
  work: (folder: string) => Promise<T>,
): Promise<T> {
  const folder = mkdtempSync(path.join(tmpdir(), 'gatepost-export-'));
  try {
    for (const [name, content] of Object.entries(files)) {
      mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
      writeFileSync(path.join(folder, name), content);
    }
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Reads a folder with the files. */
export function readFiles(files: Readonly<Record<string, Content>>): Promise<ReadExport> {
  return withFolder(files, (folder) => readPaths([folder]));
}

/** Reads the content as standard input, in pieces of 1,000 bytes. */
export function readInput(content: Content): Promise<ReadExport> {
  const bytes = Buffer.from(content);
  const pieces = Array.from({ length: Math.ceil(bytes.length / 1_000) }, (_, index) =>
    bytes.subarray(index * 1_000, (index + 1) * 1_000),
  );
  return readPaths(['-'], Readable.from(pieces));
}

/** Reads all parts, one after the other. */
export async function readPaths(paths: readonly string[], stdin = Readable.from([])): Promise<ReadExport> {
  const opened = await openExport(paths, stdin);
  try {
    const { warnings, isIncomplete } = opened;
    return { warnings, isIncomplete, parts: opened.parts.map(nameOf), rows: await rowsOf(opened) };
  } finally {
    await opened.close();
  }
}

function nameOf({ file, className, kind }: Export['parts'][number]): string {
  return `${file} ${className} ${kind}`;
}

async function rowsOf(opened: Export): Promise<ExportRow[]> {
  const rows: ExportRow[] = [];
  for (const part of opened.parts) for await (const row of opened.rows(part)) rows.push(row);
  return rows;
}

/** The rows alone. */
export function contents({ rows }: ReadExport): unknown[] {
  return rows.flatMap((read) => ('row' in read ? [read.row] : []));
}

/** The problems with their lines. */
export function problems({ rows }: ReadExport): string[] {
  return rows.flatMap((read) => ('problem' in read ? [`${read.line}: ${read.problem}`] : []));
}

/** Keeps the verdicts in the order of the rows. */
export class Verdicts extends ImportSummary {
  readonly all: ImportVerdict[] = [];

  override add(place: RowPlace, verdict: ImportVerdict): Promise<void> {
    this.all[place.line - 1] = verdict;
    return super.add(place, verdict);
  }
}

// oxlint-disable-next-line typescript/require-await -- the reader of an export is asynchronous
export async function* exported(rows: readonly JsonObject[]): AsyncIterable<ExportRow> {
  for (const [index, each] of rows.entries()) yield { file: 'f', line: index + 1, className: '_User', row: each };
}
