import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { StartError } from '#bootstrap';
import type { JsonObject, JsonValue } from '#contracts';
import type { ExportRow } from '../export/export.types.js';
import type { MemberRow } from './import-run.js';
import type { ImportSummary } from './import-summary.js';

/** The class name of `--role-members` in the summary and the report. */
const LISTED = '_Role members';
const MAX_NAME_LENGTH = 255;

/** The members of roles in the rows of join files. Rows that cannot be read are refused. */
export async function* memberRows(rows: AsyncIterable<ExportRow>, summary: ImportSummary): AsyncIterable<MemberRow> {
  for await (const row of rows) {
    const place = { file: row.file, line: row.line, className: row.className };
    const { owningId, relatedId }: JsonObject = 'row' in row ? row.row : {};
    if (isName(owningId) && isName(relatedId)) yield { place, role: owningId, member: relatedId };
    else if ('problem' in row) await summary.refuse(place, { field: '', reason: row.problem });
    else await summary.refuse(place, { field: 'owningId', reason: 'or relatedId is missing' });
  }
}

function isName(value: JsonValue | undefined): value is string {
  return typeof value === 'string' && value !== '' && value.length <= MAX_NAME_LENGTH;
}

/** The lines of `--role-members`: ROLE,USERNAME-OR-ID. @throws StartError where the file cannot be read or a line has another form */
export async function* readRoleMembers(file: string): AsyncIterable<MemberRow> {
  let line = 0;
  for await (const text of linesOf(file)) {
    line += 1;
    const named = text.replace(/^\uFEFF/, '').trim();
    if (named !== '') yield { place: { file, line, className: LISTED }, ...memberOf(named, `${file}, line ${line}`) };
  }
}

async function* linesOf(file: string): AsyncIterable<string> {
  try {
    yield* createInterface({ input: createReadStream(file, 'utf8'), crlfDelay: Infinity });
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    throw new StartError(`${file} cannot be read (${code}).`, { cause: error });
  }
}

function memberOf(text: string, place: string): Pick<MemberRow, 'role' | 'member'> {
  const comma = text.indexOf(',');
  if (comma <= 0 || comma === text.length - 1) throw new StartError(`${place}: expected ROLE,USERNAME-OR-ID.`);
  return { role: text.slice(0, comma).trim(), member: text.slice(comma + 1).trim() };
}
