import { print } from '../terminal.js';

/** Something that the operator should mend. */
export interface Finding {
  readonly problem: string;
  /** The command that mends it, or what to do. */
  readonly remedy: string;
  /** It may be as it should be: worth a thought, and no failure. */
  readonly isAdvice?: boolean;
}

/** What was found in one place. */
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
  for (const service of diagnosis.silent) print(`No ${service} service answers: what depends on it was not looked at.`);
  if (isWell(diagnosis)) print('No problems found.');
}
