// Finds installed programs.
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** The program of that name in the first folder that has it: those given, then the PATH, then those of administrators. */
export function programOf(name, first = []) {
  const onPath = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  return [...first, ...onPath, '/usr/sbin', '/usr/local/sbin'].map((folder) => join(folder, name)).find(isProgram);
}

export function isProgram(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
