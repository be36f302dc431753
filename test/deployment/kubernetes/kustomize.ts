import { createHash } from 'node:crypto';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';

type Json = string | number | boolean | null | Json[] | Fields;
interface Fields {
  [name: string]: Json | undefined;
}

/** An object of Kubernetes as it stands in a file. */
interface Manifest extends Fields {
  apiVersion: string;
  kind: string;
  metadata: Fields & { name: string; labels?: Record<string, string> };
}

interface Generator {
  readonly name: string;
  readonly behavior?: 'merge';
  readonly envs: readonly string[];
}

interface Patch {
  readonly path?: string;
  /** Operations of JSON Patch. */
  readonly patch?: string;
  readonly target?: { readonly kind?: string; readonly name?: string; readonly labelSelector?: string };
}

/** The subset of the format that our kustomizations use. */
interface Kustomization {
  readonly namespace?: string;
  readonly resources: readonly string[];
  readonly components: readonly string[];
  readonly labels: readonly { readonly pairs: Record<string, string>; readonly includeTemplates: true }[];
  readonly configMapGenerator: readonly Generator[];
  readonly images: readonly { readonly name: string; readonly newName: string; readonly newTag: string }[];
  readonly replicas: readonly { readonly name: string; readonly count: number }[];
  readonly patches: readonly Patch[];
}

const EMPTY: Kustomization = {
  resources: [],
  components: [],
  labels: [],
  configMapGenerator: [],
  images: [],
  replicas: [],
  patches: [],
};
const FIELDS = ['apiVersion', 'kind', 'namespace', ...Object.keys(EMPTY)];
/** Fields by which elements of lists are one and the same, by the name of the list; other lists are replaced as a whole. */
const KEYS: Readonly<Record<string, string>> = {
  containers: 'name',
  env: 'name',
  ports: 'containerPort',
  topologySpreadConstraints: 'topologyKey',
  volumeMounts: 'mountPath',
  volumes: 'name',
};
/** Letters in place of digits and letters that could make a word. */
const HASH_LETTERS: Readonly<Record<string, string>> = { 0: 'g', 1: 'h', 3: 'k', a: 'm', e: 't' };
const HASH_LENGTH = 10;

/**
 * The objects that a kustomization stands for, without kubectl: only as much of kustomize as ours use. rendering.spec.ts holds it to
 * what kubectl renders.
 * @throws Error where the kustomization uses what is not known here
 */
export function renderKustomization(folder: string): Manifest[] {
  const manifests = build(folder, []);
  const names = new Map<string, string>();
  for (const manifest of manifests.filter((one) => generated.has(one))) {
    const { name } = manifest.metadata;
    manifest.metadata.name = `${name}-${hashOf(manifest)}`;
    names.set(name, manifest.metadata.name);
  }
  for (const container of manifests.flatMap(containersOf))
    for (const { configMapRef } of (container['envFrom'] ?? []) as { configMapRef?: { name: string } }[])
      if (configMapRef !== undefined) configMapRef.name = names.get(configMapRef.name) ?? configMapRef.name;
  return manifests;
}

/** Config maps whose names get a hash of what they hold. */
const generated = new WeakSet<Manifest>();

/** Builds the objects of a folder. @param before the existing objects: none, except for a component */
function build(folder: string, before: readonly Manifest[]): Manifest[] {
  const kustomization = readKustomization(folder);
  const resources = kustomization.resources.flatMap((name) => resourcesOf(join(folder, name)));
  let manifests = [...before, ...resources];
  for (const generator of kustomization.configMapGenerator) generate(manifests, generator, folder);
  for (const name of kustomization.components) manifests = build(join(folder, name), manifests);
  for (const patch of kustomization.patches) applyPatch(manifests, patch, folder);
  for (const manifest of manifests) transform(manifest, kustomization);
  return manifests;
}

function readKustomization(folder: string): Kustomization {
  const given = parse(readFileSync(join(folder, 'kustomization.yaml'), 'utf8')) as Partial<Kustomization>;
  const unknown = Object.keys(given).filter((field) => !FIELDS.includes(field));
  if (unknown.length > 0) throw new Error(`kustomize.ts does not know ${unknown.join(', ')} (${folder})`);
  return { ...EMPTY, ...given };
}

function resourcesOf(path: string): Manifest[] {
  return statSync(path).isDirectory() ? build(path, []) : documentsOf(path);
}

function documentsOf(path: string): Manifest[] {
  if (!existsSync(path)) throw new Error(`there is no ${path}`);
  return parseAllDocuments(readFileSync(path, 'utf8')).map((document) => document.toJS() as Manifest);
}

function generate(manifests: Manifest[], { name, behavior, envs }: Generator, folder: string): void {
  const lines = envs.flatMap((file) => readFileSync(join(folder, file), 'utf8').split('\n'));
  const pairs = lines.filter((line) => /^[^#\s]/.test(line)).map((line) => /^([^=]+)=(.*)$/.exec(line) ?? []);
  const data = Object.fromEntries(pairs.map(([, key = '', value = '']) => [key, value]));
  const existing = manifests.find((one) => one.kind === 'ConfigMap' && one.metadata.name === name);
  if ((behavior === 'merge') !== (existing !== undefined))
    throw new Error(`the config map ${name} is ${existing ? '' : 'not '}there`);
  if (existing !== undefined) {
    existing['data'] = { ...(existing['data'] as Fields), ...data };
    return;
  }
  const made: Manifest = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data };
  generated.add(made);
  manifests.push(made);
}

/** SHA-256 of the object as JSON with sorted keys and without its name, in kustomize's letters. */
function hashOf({ kind, ...rest }: Manifest): string {
  const data = rest['data'] as Record<string, string>;
  const sorted = Object.fromEntries(Object.entries(data).sort(([a], [b]) => (a < b ? -1 : 1)));
  // As Go writes JSON.
  const json = JSON.stringify({ data: sorted, kind, name: '' }).replace(
    /[<>&]/g,
    (letter) => `\\u00${letter.charCodeAt(0).toString(16)}`,
  );
  const hex = createHash('sha256').update(json).digest('hex');
  return hex.slice(0, HASH_LENGTH).replace(/[013ae]/g, (digit) => HASH_LETTERS[digit] ?? digit);
}

function applyPatch(manifests: readonly Manifest[], { path, patch, target }: Patch, folder: string): void {
  if (patch !== undefined) {
    const operations = parse(patch) as { op: string; path: string; value: Json }[];
    for (const manifest of targetsOf(manifests, target)) for (const one of operations) replaceAt(manifest, one);
    return;
  }
  for (const document of documentsOf(join(folder, path ?? ''))) {
    const found = targetsOf(manifests, target ?? { kind: document.kind, name: document.metadata.name });
    for (const manifest of found) {
      const { kind, metadata, apiVersion } = manifest;
      Object.assign(manifest, merge(manifest, document), { apiVersion, kind, metadata });
    }
  }
}

function targetsOf(manifests: readonly Manifest[], target: Patch['target'] = {}): Manifest[] {
  const isWhole = (pattern: string | undefined, text: string) =>
    pattern === undefined || new RegExp(`^(?:${pattern})$`).test(text);
  const found = manifests.filter(
    ({ kind, metadata: { name, labels = {} } }) =>
      isWhole(target.kind, kind) && isWhole(target.name, name) && selectsLabels(target.labelSelector, labels),
  );
  if (found.length === 0) throw new Error(`a patch finds nothing: ${JSON.stringify(target)}`);
  return found;
}

function selectsLabels(selector: string | undefined, labels: Readonly<Record<string, string>>): boolean {
  if (selector === undefined) return true;
  const [, key = '', value = ''] = /^([^!=]+)!=(.+)$/.exec(selector) ?? [];
  if (key === '') throw new Error(`kustomize.ts knows no selector but "key!=value": ${selector}`);
  return labels[key] !== value;
}

function replaceAt(manifest: Manifest, { op, path, value }: { op: string; path: string; value: Json }): void {
  const steps = path.slice(1).split('/');
  const last = steps.pop() ?? '';
  const parent = steps.reduce<Json | undefined>((at, step) => (at as Fields | undefined)?.[step], manifest) as
    | Fields
    | undefined;
  if (op !== 'replace' || parent?.[last] === undefined) throw new Error(`kustomize.ts cannot ${op} ${path}`);
  parent[last] = structuredClone(value);
}

/** A strategic merge: fields of the patch count, and lists with keys are merged element by element, those of the patch first. */
function merge(base: Json | undefined, patch: Json, name = ''): Json {
  if (Array.isArray(patch)) return mergeLists(base as Fields[] | undefined, patch, KEYS[name]);
  if (patch === null || typeof patch !== 'object') return patch;
  const merged: Fields = { ...(base as Fields | undefined) };
  for (const [field, value] of Object.entries(patch)) merged[field] = merge(merged[field], value ?? null, field);
  return merged;
}

function mergeLists(base: readonly Fields[] = [], patch: readonly Json[], key: string | undefined): Json[] {
  if (key === undefined) return structuredClone([...patch]);
  const given = patch as Fields[];
  const changed = base.map((one) => {
    const change = given.find((other) => other[key] === one[key]);
    return change === undefined ? one : merge(one, change);
  });
  const added = given.filter((one) => !base.some((other) => other[key] === one[key]));
  return [...structuredClone(added), ...changed];
}

function transform(manifest: Manifest, { namespace, labels, images, replicas }: Kustomization): void {
  if (namespace !== undefined && manifest.kind !== 'Namespace') manifest.metadata['namespace'] = namespace;
  for (const { pairs } of labels) addLabels(manifest, pairs);
  for (const container of containersOf(manifest)) {
    const image = images.find(({ name }) => name === container['image']);
    if (image !== undefined) container['image'] = `${image.newName}:${image.newTag}`;
  }
  if (manifest.kind !== 'Deployment') return;
  const fixed = replicas.find(({ name }) => name === manifest.metadata.name);
  if (fixed !== undefined) Object.assign(manifest['spec'] as Fields, { replicas: fixed.count });
}

function addLabels(manifest: Manifest, pairs: Readonly<Record<string, string>>): void {
  const carriers = [manifest.metadata, templateOf(manifest)?.['metadata'] as Fields | undefined];
  for (const carrier of carriers)
    if (carrier !== undefined) carrier['labels'] = { ...(carrier['labels'] as Fields | undefined), ...pairs };
}

function containersOf(manifest: Manifest): Fields[] {
  const pod = templateOf(manifest)?.['spec'] as Fields | undefined;
  return (pod?.['containers'] ?? []) as Fields[];
}

function templateOf({ spec }: Manifest): Fields | undefined {
  return (spec as Fields | undefined)?.['template'] as Fields | undefined;
}
