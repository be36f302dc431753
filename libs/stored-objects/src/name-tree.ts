/** Names, each with those below it. Paths that begin alike share their beginning. */
export class NameTree extends Map<string, NameTree> {
  /** @param paths dotted names */
  static of(paths: readonly string[]): NameTree {
    const tree = new NameTree();
    for (const path of paths) {
      let level = tree;
      for (const name of path.split('.')) level = level.#below(name);
    }
    return tree;
  }

  #below(name: string): NameTree {
    const below = this.get(name) ?? new NameTree();
    this.set(name, below);
    return below;
  }
}
