// A second look at tests that failed: alone, on a quiet machine.
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';

/** Files that run again; where more failed, the load of the machine is not the cause. */
const MAX_FILES = 6;

/**
 * The arguments of vitest by which failed files run once more, one after the other; undefined where there is nothing to look at again.
 * @param reportFile what vitest's JSON reporter wrote
 */
export function planRetry(reportFile, root) {
  const failed = failedFiles(reportFile).map((file) => relative(root, file));
  if (failed.length === 0 || failed.length > MAX_FILES) return undefined;
  return { files: failed, vitestArguments: [...failed, '--no-file-parallelism'] };
}

function failedFiles(reportFile) {
  try {
    const { testResults } = JSON.parse(readFileSync(reportFile, 'utf8'));
    return testResults.filter(({ status }) => status !== 'passed').map(({ name }) => name);
  } catch {
    // Vitest did not come as far as its report.
    return [];
  }
}
