/** How often each endpoint was answered what: whether attacks get past the doors. */
export class AnswerStatistics {
  readonly #counts = new Map<string, Map<string, number>>();
  #total = 0;

  note(endpoint: string, status: number): void {
    const counts = this.#counts.get(endpoint) ?? new Map<string, number>();
    this.#counts.set(endpoint, counts);
    const kind = `${Math.floor(status / 100)}xx`;
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
    this.#total += 1;
  }

  get total(): number {
    return this.#total;
  }

  /** Which part of all requests was let in. */
  get passedShare(): number {
    const passed = [...this.#counts.values()].map((counts) => (counts.get('2xx') ?? 0) + (counts.get('3xx') ?? 0));
    return passed.reduce((sum, count) => sum + count, 0) / Math.max(1, this.#total);
  }

  hasPassed(endpoint: string): boolean {
    const counts = this.#counts.get(endpoint);
    return counts?.has('2xx') === true || counts?.has('3xx') === true;
  }

  report(): string[] {
    const lines = [...this.#counts].map(([endpoint, counts]) => {
      const parts = [...counts].sort(([a], [b]) => a.localeCompare(b)).map(([kind, count]) => `${kind} ${count}`);
      return `${endpoint.padEnd(60)} ${parts.join(', ')}`;
    });
    return [...lines.sort(), `${'all together'.padEnd(60)} ${this.#total}`];
  }
}
