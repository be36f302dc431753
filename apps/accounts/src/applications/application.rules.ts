import { applicationSettings, type ApplicationSettings, SETTING_NAMES } from '#contracts';
import { appError } from '#errors';

/**
 * Parses a setting as an operator types it: JSON where it is valid JSON, a string otherwise.
 * @throws AppError NOT_SUPPORTED for an unknown name, INCORRECT_TYPE for a value that the setting does not accept
 */
export function parseSetting(name: string, text: string): Partial<ApplicationSettings> {
  if (!isSettingName(name)) {
    throw appError('NOT_SUPPORTED', {
      message: `There is no setting "${name}". Settings: ${SETTING_NAMES.join(', ')}.`,
    });
  }
  const value = applicationSettings.shape[name].safeParse(jsonOrText(text));
  if (!value.success)
    throw appError('INCORRECT_TYPE', { message: `${name}: ${value.error.issues[0]?.message ?? 'invalid value'}` });
  return { [name]: value.data };
}

function isSettingName(name: string): name is keyof ApplicationSettings {
  return SETTING_NAMES.some((known) => known === name);
}

function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** The application key is part of client apps; the master key stays on servers. */
export type KeyKind = 'app' | 'master';

/** The sealing context of an application's key. */
export function keyContext(appId: string, kind: KeyKind): string {
  return `${kind} key of ${appId}`;
}
