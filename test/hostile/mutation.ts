import fc from 'fast-check';
import { HOSTILE_KEYS, HOSTILE_VALUES } from './corpus/values.js';

/** A change of a JSON document: what happens to one of its members. */
interface Mutation {
  readonly kind: 'replace' | 'remove' | 'rename' | 'add' | 'wrap' | 'double';
  /** Which member, counted through the whole document and around. */
  readonly at: number;
  readonly value: string;
  readonly key: string;
}

/** A JSON document being changed: hostile values are texts of JSON that JavaScript may have no value for. */
const MARK = 'hostile-value';

/** JSON texts of documents that were changed in none, one or two places. */
export function mutated(documents: fc.Arbitrary<unknown>): fc.Arbitrary<string> {
  const mutation = fc.record<Mutation>({
    kind: fc.constantFrom('replace', 'replace', 'add', 'add', 'rename', 'remove', 'wrap', 'double'),
    at: fc.nat(50),
    value: fc.constantFrom(...HOSTILE_VALUES),
    key: fc.constantFrom(...HOSTILE_KEYS),
  });
  const mutations = fc.oneof(
    { weight: 1, arbitrary: fc.constant<Mutation[]>([]) },
    { weight: 1, arbitrary: fc.array(mutation, { minLength: 1, maxLength: 2 }) },
  );
  return fc.tuple(documents, mutations).map(([document, changes]) => written(document, changes));
}

function written(document: unknown, mutations: readonly Mutation[]): string {
  const values: string[] = [];
  const root = { document: structuredClone(document) };
  for (const mutation of mutations) apply(root, mutation, `${MARK}-${values.push(mutation.value) - 1}`);
  const text = JSON.stringify(root.document) as string | undefined;
  return (text ?? '').replaceAll(
    new RegExp(`"${MARK}-(\\d+)"`, 'g'),
    (_, index: string) => values[Number(index)] ?? '',
  );
}

type Holder = Record<string, unknown>;

function apply(root: Holder, { kind, at, key }: Mutation, mark: string): void {
  const members = membersOf(root);
  const [holder, name] = members[at % members.length] ?? [root, 'document'];
  const old = holder[name];
  const changes: Record<Mutation['kind'], () => void> = {
    replace: () => {
      define(holder, name, mark);
    },
    remove: () => {
      if (holder !== root) Reflect.deleteProperty(holder, name);
    },
    rename: () => {
      if (holder === root || Array.isArray(holder) || key === name) return;
      define(holder, key, old);
      Reflect.deleteProperty(holder, name);
    },
    add: () => {
      const target = isHolder(old) ? old : holder;
      if (Array.isArray(target)) target.push(mark);
      else define(target, target === root ? 'document' : key, mark);
    },
    wrap: () => {
      define(holder, name, { [key]: old });
    },
    double: () => {
      define(holder, name, [old, old]);
    },
  };
  changes[kind]();
}

/** Every member of the document with what holds it, the document itself first. */
function membersOf(holder: Holder): [Holder, string][] {
  return Object.keys(holder).flatMap((name) => {
    const value = holder[name];
    return [[holder, name] as [Holder, string], ...(isHolder(value) ? membersOf(value) : [])];
  });
}

function isHolder(value: unknown): value is Holder {
  return typeof value === 'object' && value !== null;
}

/** An own member even where the name is __proto__. */
function define(holder: Holder, name: string, value: unknown): void {
  Object.defineProperty(holder, name, { value, enumerable: true, configurable: true, writable: true });
}
