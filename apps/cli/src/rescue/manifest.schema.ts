import { z } from 'zod';

const count = z.number().int().nonnegative();
const time = z.string();

/** The last three count rows with a value in the column, for `_User` only. */
const exportedClass = z.object({
  class: z.string(),
  rows: count,
  password: count.optional(),
  salt: count.optional(),
  sessionToken: count.optional(),
});

const exportState = z.object({
  kind: z.enum(['data', 'schema', 'console']),
  /** LeanCloud's id of the task; null for an archive that the operator has put into the folder. */
  id: z.string().nullable(),
  startedAt: time,
  /** Only rows that changed from this day on; null: all rows. */
  fromDate: z.string().nullable(),
  path: z.string().optional(),
  bytes: count.optional(),
  sha256: z.string().optional(),
  classes: z.array(exportedClass).optional(),
});

const scanState = z.object({
  /** Rows with an older `updatedAt` were not requested; null: all rows. */
  since: time.nullable(),
  startedAt: time,
  finishedAt: time.optional(),
  lastId: z.string().nullable(),
  /** All rows so far came in ascending order of 24-digit ids: only then can the scan continue behind `lastId`. */
  isOrdered: z.boolean(),
  rows: count,
  files: z.array(z.string()),
});

const classState = z.object({
  name: z.string(),
  serverRows: count.nullable(),
  /** Distinct object ids in the files; null until the class is complete. */
  rows: count.nullable(),
  scans: z.array(scanState),
});

const relationState = z.object({
  class: z.string(),
  field: z.string(),
  target: z.string(),
  startedAt: time,
  finishedAt: time.optional(),
  lastOwner: z.string().nullable(),
  owners: count,
  members: count,
  files: z.array(z.string()),
  /** Files of the previous run count until this one is complete. */
  previousFiles: z.array(z.string()),
});

const missing = z.object({ what: z.string(), reason: z.string(), remedy: z.string() });

export const manifestSchema = z.object({
  format: z.literal('gatepost-rescue'),
  version: z.literal(1),
  application: z.string(),
  api: z.string(),
  import: z.array(z.string()),
  missing: z.array(missing),
  notes: z.array(z.string()),
  runs: z.array(z.object({ startedAt: time, finishedAt: time.optional(), status: z.number().optional() })),
  exports: z.array(exportState),
  classes: z.array(classState),
  relations: z.array(relationState),
  /** `index` names a file with one line for each content. */
  files: z.object({ index: z.string(), count, bytes: count }),
});

export type Manifest = z.infer<typeof manifestSchema>;
export type ExportState = z.infer<typeof exportState>;
export type ClassState = z.infer<typeof classState>;
export type ScanState = z.infer<typeof scanState>;
export type RelationState = z.infer<typeof relationState>;
export type Missing = z.infer<typeof missing>;

export function newManifest(application: string, api: string): Manifest {
  return {
    format: 'gatepost-rescue',
    version: 1,
    application,
    api,
    import: [],
    missing: [],
    notes: [],
    runs: [],
    exports: [],
    classes: [],
    relations: [],
    files: { index: 'files.jsonl', count: 0, bytes: 0 },
  };
}

/** Archives, those with passwords first, then the oldest; scanned classes; relations. An import takes the newest version and another copy's password. */
export function importedPaths({ exports, classes, relations }: Manifest): string[] {
  const archives = exports.filter(({ path }) => path !== undefined);
  const rank = (archive: ExportState) => `${usersIn(archive).password > 0 ? '0' : '1'} ${archive.startedAt}`;
  return [
    ...archives.toSorted((one, other) => rank(one).localeCompare(rank(other))).map(({ path = '' }) => path),
    ...classes.flatMap(({ scans }) => scans.flatMap(({ files }) => files)),
    ...relations.flatMap(({ finishedAt, previousFiles, files }) =>
      finishedAt === undefined ? [...previousFiles, ...files] : files,
    ),
  ];
}

export function usersIn({ classes = [] }: ExportState): Record<'rows' | 'password' | 'salt' | 'sessionToken', number> {
  const users = classes.find((each) => each.class === '_User');
  const { rows = 0, password = 0, salt = 0, sessionToken = 0 } = users ?? {};
  return { rows, password, salt, sessionToken };
}

export function coverageOf({ scans }: ClassState): string | null {
  return scans.some(({ since }) => since === null) ? null : (scans[0]?.since ?? null);
}
