// Arithmetic of the cases.

/** The time in milliseconds, comparable between processes of a machine. */
export function now() {
  return performance.timeOrigin + performance.now();
}

/** For each part, the value that this share of the measured values does not exceed. */
export function shares(values, ...parts) {
  const sorted = values.toSorted((a, b) => a - b);
  return parts.map((part) => sorted[Math.floor(sorted.length * part)]);
}
