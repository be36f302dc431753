import { once } from 'node:events';
import { createWriteStream, type WriteStream } from 'node:fs';
import { StartError } from '#bootstrap';
import type { ClassName, ImportedObject, ImportNote, ImportVerdict } from '#contracts';
import { ExportedObjects } from './claim-index.js';

export interface RowPlace {
  readonly file: string;
  readonly line: number;
  readonly className: string;
  readonly objectId?: string | undefined;
}

export interface ClassCounts {
  read: number;
  imported: number;
  unchanged: number;
  keptNewer: number;
  importedWithout: number;
  refused: number;
}

const COUNTS = {
  imported: 'imported',
  imported_without: 'importedWithout',
  unchanged: 'unchanged',
  kept_newer: 'keptNewer',
  refused: 'refused',
} as const satisfies Record<ImportVerdict['outcome'], keyof ClassCounts>;
const REPORTED: ReadonlySet<string> = new Set(['imported_without', 'kept_newer', 'refused']);
const MAX_WARNINGS = 200;
const MAX_KIND_LENGTH = 60;
/** Other devices need the push service of a vendor. */
const OWN_PUSH: ReadonlySet<string> = new Set(['android', 'android/lc', 'web']);

/** Counts rows by class and outcome; the report lists those that were not simply imported. */
export class ImportSummary {
  readonly classes = new Map<string, ClassCounts>();
  readonly warnings: string[] = [];
  hasUnreadSettings = false;
  readonly exported: Readonly<Record<ClassName, ExportedObjects>> = {
    ...{ _User: new ExportedObjects(), _Role: new ExportedObjects(), _Installation: new ExportedObjects() },
  };
  readonly #startedAt = performance.now();
  readonly #report: WriteStream | undefined;
  #failure: Error | undefined;
  readonly #devices = new Map<string, number>();

  /** @param report path; readable by its owner only, because it names objects */
  constructor(report: string | undefined) {
    if (report === undefined) return;
    this.#report = createWriteStream(report, { mode: 0o600 });
    this.#report.on('error', (error) => {
      this.#failure = new StartError(`The report cannot be written: ${error.message}. Choose another --report file.`);
    });
  }

  async open(): Promise<void> {
    if (this.#report?.pending === true) await once(this.#report, 'open').catch(() => undefined);
    this.#assertWritable();
  }

  async add(place: RowPlace, { outcome, notes }: ImportVerdict): Promise<void> {
    const counts = this.countsOf(place.className);
    counts.read += 1;
    counts[COUNTS[outcome]] += 1;
    if (this.#report === undefined || !REPORTED.has(outcome)) return;
    const { file, line, className, objectId } = place;
    const [first = { field: 'updatedAt', reason: 'is older than that of the object here' }, ...more] = notes;
    const entry = { file, line, class: className, objectId, outcome, ...first, ...(more.length > 0 ? { more } : {}) };
    if (!this.#report.write(`${JSON.stringify(entry)}\n`)) await once(this.#report, 'drain').catch(() => undefined);
    this.#assertWritable();
  }

  refuse(place: RowPlace, note: ImportNote): Promise<void> {
    return this.add(place, { outcome: 'refused', notes: [note] });
  }

  notice(className: ClassName, object: ImportedObject): void {
    if (!this.exported[className].add(object) || className !== '_Installation') return;
    const { columns, fields } = object;
    const { deviceType = 'unknown' } = columns;
    const kind = [deviceType, fields['vendor']].filter((part) => typeof part === 'string').join('/');
    this.#devices.set(kind, (this.#devices.get(kind) ?? 0) + 1);
  }

  conclude(): void {
    const { objects: users, password, sessionToken } = this.exported._User.counts;
    if (sessionToken < users)
      this.warn(
        `Users without a session token in the export: ${users - sessionToken}. They must log in again. The console's export has the tokens.`,
      );
    if (password < users)
      this.warn(
        `Users without a usable password in the export: ${users - password}. Users of text messages and platforms have none.`,
      );
    for (const [kind, count] of [...this.#devices].sort())
      this.warn(
        `${kind.slice(0, MAX_KIND_LENGTH)}: ${count} devices${OWN_PUSH.has(kind) ? '' : ' (reached with credentials: gatepost vendors)'}.`,
      );
  }

  warn(text: string): void {
    if (this.warnings.length < MAX_WARNINGS && !this.warnings.includes(text)) this.warnings.push(text);
  }

  countsOf(className: string): ClassCounts {
    const none = { read: 0, imported: 0, unchanged: 0, keptNewer: 0, importedWithout: 0, refused: 0 };
    const counts = this.classes.get(className) ?? none;
    this.classes.set(className, counts);
    return counts;
  }

  get seconds(): number {
    return Math.round((performance.now() - this.#startedAt) / 100) / 10;
  }

  get isIncomplete(): boolean {
    const counts = [...this.classes.values()];
    return this.hasUnreadSettings || counts.some(({ refused, importedWithout }) => refused + importedWithout > 0);
  }

  get hasImported(): boolean {
    return [...this.classes.values()].some(({ imported, importedWithout }) => imported + importedWithout > 0);
  }

  async close(): Promise<void> {
    if (this.#report === undefined) return;
    this.#report.end();
    // An earlier error is recorded already.
    while (!this.#report.closed) await once(this.#report, 'close').catch(() => undefined);
    this.#assertWritable();
  }

  #assertWritable(): void {
    if (this.#failure !== undefined) throw this.#failure;
  }
}
