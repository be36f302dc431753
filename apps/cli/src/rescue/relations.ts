import { z } from 'zod';
import { quoted } from '#bootstrap';
import { idsIn } from './class-scan.js';
import { parsed, RequestError } from './leancloud-api.js';
import type { RelationState } from './manifest.schema.js';
import { attempt, eachAtOnce, headerOf, isPlainName, type RescueContext, RUN_AGAIN } from './rescue-context.js';

const PAGE_ROWS = 1_000;
const OWNERS_AT_ONCE = 500;
const FILE_LINES = 10_000;
/** Owners at most between two files; a killed run repeats them. */
const FILE_OWNERS = 20_000;
/** Members may change between two pages: a relation whose count does not fit is read again. */
const READS = 3;
const ENDPOINTS: Readonly<Record<string, string>> = { _User: 'users', _Role: 'roles' };

const members = z.object({ results: z.array(z.looseObject({ objectId: z.string() })), count: z.number().int() });

export const schemas = z.record(
  z.string(),
  z.record(z.string(), z.looseObject({ type: z.string(), className: z.string().optional() })),
);
export type Schemas = z.infer<typeof schemas>;

interface Relation {
  readonly class: string;
  readonly field: string;
  readonly target: string;
}

/** At least one request for each row of the class. Exports and scans may lack members. */
export async function copyRelations(context: RescueContext, found: Schemas): Promise<void> {
  for (const relation of relationsOf(found))
    await attempt(context, { name: `relation ${quoted(`${relation.class}.${relation.field}`)}` }, async () => {
      if (![relation.class, relation.field, relation.target].every(isPlainName))
        throw new RequestError('LeanCloud permits no such name, so the members were not read');
      await copyRelation(context, relation);
    });
}

/** Roles have relations even where the schema omits them. */
function relationsOf(found: Schemas): Relation[] {
  const columns = Object.entries(found).flatMap(([name, fields]) =>
    Object.entries(fields).map(([field, { type, className }]) => ({ class: name, field, target: className, type })),
  );
  const declared = columns
    .filter(({ type }) => type === 'Relation')
    .map(({ target, ...relation }) => ({ ...relation, target: target ?? targetOfRole(relation.field) }));
  const ofRoles = ['users', 'roles']
    .filter(
      (field) =>
        Object.hasOwn(found, '_Role') && !declared.some((each) => each.class === '_Role' && each.field === field),
    )
    .map((field) => ({ class: '_Role', field, target: targetOfRole(field) }));
  return [...declared, ...ofRoles];
}

function targetOfRole(field: string): string {
  return field === 'roles' ? '_Role' : '_User';
}

async function copyRelation(context: RescueContext, relation: Relation): Promise<void> {
  const { folder, manifest } = context;
  const state = stateOf(context, relation);
  if (state.finishedAt !== undefined) return;
  const scans = manifest.classes.find(({ name }) => name === relation.class)?.scans ?? [];
  const ids = await idsIn(scans.flatMap(({ files }) => files.map((name) => folder.resolve(name))));
  const owners = [...ids].sort().filter((id) => state.lastOwner === null || id > state.lastOwner);
  context.progress.expect(owners.length);
  const lines: string[] = [];
  let waiting = 0;
  for (let start = 0; start < owners.length; start += OWNERS_AT_ONCE) {
    const some = owners.slice(start, start + OWNERS_AT_ONCE);
    lines.push(...(await linesFor(context, relation, some)));
    waiting += some.length;
    if (lines.length < FILE_LINES && waiting < FILE_OWNERS) continue;
    await write(context, state, lines.splice(0), { owners: waiting, lastOwner: some.at(-1) });
    waiting = 0;
  }
  await write(context, state, lines, { owners: waiting, lastOwner: owners.at(-1) });
  await finish(context, state);
}

/** Files of an earlier run stay until this one is complete: LeanCloud may close before that. */
function stateOf({ manifest, startedAt }: RescueContext, relation: Relation): RelationState {
  const fresh = { ...relation, startedAt, lastOwner: null, owners: 0, members: 0, files: [], previousFiles: [] };
  const found = manifest.relations.find((each) => each.class === relation.class && each.field === relation.field);
  if (found === undefined) {
    manifest.relations.push(fresh);
    return fresh;
  }
  if (found.startedAt < startedAt && found.finishedAt !== undefined) {
    Object.assign(found, fresh, { previousFiles: found.files });
    delete found.finishedAt;
  }
  return found;
}

async function linesFor(context: RescueContext, relation: Relation, owners: readonly string[]): Promise<string[]> {
  const found = new Map<string, readonly string[]>();
  await eachAtOnce(owners, context.concurrency, async (owner) => {
    found.set(owner, await membersOf(context, relation, owner));
    context.progress.add(1);
  });
  return owners.flatMap((owningId) =>
    (found.get(owningId) ?? []).map((relatedId) => JSON.stringify({ owningId, relatedId })),
  );
}

async function membersOf(context: RescueContext, relation: Relation, owner: string): Promise<readonly string[]> {
  let [ids, count] = [new Set<string>(), 0];
  for (let read = 0; read < READS; read += 1) {
    ({ ids, count } = await readMembers(context, relation, owner));
    if (ids.size === count) return [...ids];
  }
  const { class: name, field } = relation;
  context.problems.set(`members of ${name}.${field} of ${quoted(owner)}`, {
    reason: `${ids.size} of ${count} members were read`,
    remedy: RUN_AGAIN,
  });
  return [...ids];
}

async function readMembers(
  { api }: RescueContext,
  { class: className, field, target }: Relation,
  objectId: string,
): Promise<{ ids: Set<string>; count: number }> {
  const where = JSON.stringify({ $relatedTo: { object: { __type: 'Pointer', className, objectId }, key: field } });
  const ids = new Set<string>();
  for (let skip = 0; ; skip += PAGE_ROWS) {
    const query = {
      where,
      count: '1',
      limit: String(PAGE_ROWS),
      skip: String(skip),
      order: 'objectId',
      keys: 'objectId',
    };
    const text = await api.get(ENDPOINTS[target] ?? `classes/${target}`, query);
    const { results, count } = parsed(members, text, `the members of ${className}.${field}`);
    const before = ids.size;
    for (const row of results) ids.add(row.objectId);
    // A page without a new member would repeat for ever.
    if (results.length < PAGE_ROWS || ids.size === before) return { ids, count };
  }
}

async function write(
  { folder }: RescueContext,
  state: RelationState,
  lines: readonly string[],
  { owners, lastOwner }: { readonly owners: number; readonly lastOwner: string | undefined },
): Promise<void> {
  const { class: owner, field, target } = state;
  // An import takes roles without a file of members for roles whose members are missing.
  if (lines.length > 0 || (owner === '_Role' && owners > 0 && state.files.length === 0)) {
    // Windows permits no colons in file names.
    const name = nextName(state, `scan/_Join_${target}_${field}_${owner}`);
    const text = lines.map((line) => `${line}\n`).join('');
    await folder.write(name, `${headerOf(`_Join:${target}:${field}:${owner}`)}${text}`);
    state.files.push(name);
  }
  state.members += lines.length;
  state.owners += owners;
  state.lastOwner = lastOwner ?? state.lastOwner;
  await folder.save();
}

function nextName({ files, previousFiles }: RelationState, stem: string): string {
  const taken = new Set([...files, ...previousFiles]);
  let number = files.length;
  while (taken.has(`${stem}.${number}.jsonl`)) number += 1;
  return `${stem}.${number}.jsonl`;
}

async function finish({ folder }: RescueContext, state: RelationState): Promise<void> {
  const old = state.previousFiles;
  state.finishedAt = new Date().toISOString();
  state.previousFiles = [];
  await folder.save();
  for (const name of old) await folder.remove(name);
}
