import { print } from '../terminal.js';

/** A problem that the operator should fix. */
export interface Finding {
  readonly problem: string;
  /** The command that fixes it, or an instruction. */
  readonly remedy: string;
  /** The state may be intended: a hint, not a failure. */
  readonly isAdvice?: boolean;
}

/** The findings of the deployment, of its public address or of one application. */
export interface Section {
  readonly title: string;
  readonly findings: readonly Finding[];
}

export interface Diagnosis {
  readonly sections: readonly Section[];
  /** Services of which no process answers. */
  readonly silent: readonly string[];
}

export function isWell({ sections, silent }: Diagnosis): boolean {
  return silent.length === 0 && sections.every(({ findings }) => findings.every(({ isAdvice }) => isAdvice === true));
}

export function printDiagnosis(diagnosis: Diagnosis): void {
  for (const { title, findings } of diagnosis.sections) {
    print(title);
    for (const { problem, remedy, isAdvice } of findings)
      print(`  - ${isAdvice === true ? 'To consider: ' : ''}${problem}\n    ${remedy}`);
  }
  for (const service of diagnosis.silent) print(`No ${service} service answers: checks that need it were skipped.`);
  if (isWell(diagnosis)) print('No problems found.');
}
