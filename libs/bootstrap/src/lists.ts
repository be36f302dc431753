/** Groups are in the order of their first items. */
export function groupedBy<T, Key>(items: readonly T[], keyOf: (item: T) => Key): [Key, T[]][] {
  const groups = new Map<Key, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const together = groups.get(key);
    if (together === undefined) groups.set(key, [item]);
    else together.push(item);
  }
  return [...groups];
}

/** The last chunk may be shorter. */
export function chunksOf<T>(items: readonly T[], size: number): T[][] {
  const count = Math.ceil(items.length / size);
  return Array.from({ length: count }, (_, index) => items.slice(index * size, (index + 1) * size));
}
