import { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { setFlagsFromString } from 'node:v8';
import { Logger } from '@nestjs/common';
import { stringify } from 'csv-stringify/sync';
import type { FastifyReply } from 'fastify';
import type { ExportFormat, ExportRoute } from '#console-api';
import { toAppError } from '#errors';
import { reportError } from '#observability';
import type { EndedAct } from '../audit/audit.repository.js';
import { MAX_EXPORT_MS } from '../audit/audit.rules.js';
import { appIdOf, type ConsoleRequest } from '../routing/console-handler.js';

const logger = new Logger('Export');

type Row = Readonly<Record<string, unknown>>;
type Rows = readonly Row[];

const MEDIA_TYPES: Readonly<Record<ExportFormat, string>> = {
  csv: 'text/csv; charset=utf-8; header=present',
  jsonl: 'application/jsonl; charset=utf-8',
};

/** Spreadsheets that split cells at semicolons, tabs or line breaks would begin a formula here. */
const FORMULA_WITHIN = /([;\t\r\n]"*)(?=[=+\-@\uFF1D\uFF0B\uFF0D\uFF20])/g;

/** RFC 4180. An apostrophe stands before what a spreadsheet would take for a formula; objects and lists are JSON texts, null is an empty cell. */
function csvOf(rows: Rows, columns: readonly string[], isHeading = false): string {
  return stringify([...rows], {
    bom: isHeading,
    header: isHeading,
    columns: [...columns],
    record_delimiter: 'windows',
    // Also where a cell holds only a part of the delimiter.
    quote_record_delimiter: true,
    escape_formulas: true,
    quoted_match: /[;\t]/,
    cast: { boolean: String, string: harmless, object: (value) => harmless(JSON.stringify(value)) },
  });
}

function harmless(text: string): string {
  return text.replaceAll(FORMULA_WITHIN, "$1'");
}

/** One JSON object a line; JSON escapes the line breaks of texts. */
function jsonLinesOf(rows: Rows): string {
  return rows.map((row) => `${JSON.stringify(row)}\n`).join('');
}

const HEAP_GROWTH_PERCENT = 20;
let pagesUnderWay = 0;

/** Pages of rows soon are old garbage. Left alone, V8 lets the heap grow to several times its size before it collects them. */
async function* inLittleMemory(texts: AsyncGenerator<string>): AsyncGenerator<string> {
  for (;;) {
    pagesUnderWay += 1;
    setFlagsFromString(`--heap-growing-percent=${HEAP_GROWTH_PERCENT}`);
    const text = await texts.next().finally(() => {
      pagesUnderWay -= 1;
      if (pagesUnderWay === 0) setFlagsFromString('--heap-growing-percent=0');
    });
    if (text.done === true) return;
    yield text.value;
  }
}

/** The rows of a list on their way into a file. It holds two pages at most: one is sent while the next is read. */
export class ExportFile {
  #sentRows = 0;

  private constructor(
    private readonly route: ExportRoute,
    private readonly request: ConsoleRequest<ExportRoute>,
    private readonly first: IteratorResult<Rows>,
    private readonly pages: AsyncIterator<Rows>,
    private readonly openedAt: Date,
  ) {}

  /** Reads the first page, so that a wrong filter or a service that is away is an ordinary error. */
  static async open(
    route: ExportRoute,
    request: ConsoleRequest<ExportRoute>,
    rows: AsyncIterable<Rows>,
    now: Date,
  ): Promise<ExportFile> {
    const pages = rows[Symbol.asyncIterator]();
    return new ExportFile(route, request, await pages.next(), pages, now);
  }

  /** A page that cannot be read destroys the connection: the file is cut. @returns the outcome with the number of rows; `unknown` if the client has left */
  async sendTo(reply: FastifyReply, assertAllowed: () => Promise<void>): Promise<EndedAct> {
    const text = Readable.from(inLittleMemory(this.#text(assertAllowed)));
    const limit = setTimeout(() => text.destroy(new Error('The export took too long.')), MAX_EXPORT_MS);
    void reply
      .header('content-type', MEDIA_TYPES[this.#format])
      .header('content-disposition', `attachment; filename="${this.#name}"`)
      .send(text);
    const outcome = await finished(reply.raw).then(
      () => 'done' as const,
      () => (text.errored === null ? ('unknown' as const) : ('failed' as const)),
    );
    clearTimeout(limit);
    const target = `${this.#sentRows} rows`;
    if (text.errored === null) return { outcome, target };
    const error = toAppError(text.errored);
    reportError(logger, error, { requestId: this.request.id });
    return { outcome: 'failed', errorName: error.errorName, target };
  }

  get #format(): ExportFormat {
    return (this.request.query as { readonly format: ExportFormat }).format;
  }

  get #name(): string {
    const { name } = this.route.file;
    const day = this.openedAt.toISOString().slice(0, 10);
    return `${[name, appIdOf(this.request.params), day].filter((part) => part !== undefined).join('-')}.${this.#format}`;
  }

  async *#text(assertAllowed: () => Promise<void>): AsyncGenerator<string> {
    const { columns } = this.route.file;
    if (this.#format === 'csv') yield csvOf([], columns, true);
    for (let page = this.first; page.done !== true; page = await this.pages.next()) {
      const rows = page.value.map((row) => this.route.reply.parse(row) as Row);
      if (rows.length > 0) yield this.#format === 'csv' ? csvOf(rows, columns) : jsonLinesOf(rows);
      this.#sentRows += rows.length;
      await assertAllowed();
    }
  }
}
