import {
  applicationSettings,
  type ApplicationSettings,
  SECRET_SETTING_NAMES,
  secretSettings,
  type SecretSettingName,
  SETTING_NAMES,
  settingProblem,
} from '#contracts';
import { appError } from '#errors';

/** Parses JSON, else a string. @throws AppError NOT_SUPPORTED for an unknown name, INCORRECT_TYPE */
export function parseSetting(name: string, text: string): Partial<ApplicationSettings> {
  if (!isSettingName(name)) {
    throw appError('NOT_SUPPORTED', {
      message: `There is no setting "${name}". Settings: ${[...SETTING_NAMES, ...SECRET_SETTING_NAMES].join(', ')}.`,
    });
  }
  const value = applicationSettings.shape[name].safeParse(jsonOrText(text));
  if (!value.success) throw appError('INCORRECT_TYPE', { message: `${name}: ${settingProblem(value.error)}` });
  return { [name]: value.data };
}

export function isSecretSetting(name: string): name is SecretSettingName {
  return SECRET_SETTING_NAMES.some((known) => known === name);
}

/** @throws AppError INCORRECT_TYPE, whose text does not repeat the value */
export function parseSecret(name: SecretSettingName, text: string): string {
  const value = secretSettings.shape[name].safeParse(text);
  if (value.success) return value.data;
  throw appError('INCORRECT_TYPE', { message: `${name} ${value.error.issues[0]?.message ?? 'is invalid'}.` });
}

/** @throws AppError INCORRECT_TYPE where requests would be forwarded to this server itself */
export function assertForwardsElsewhere(forwardUrl: string | undefined, baseUrl: string | undefined): void {
  if (!forwardUrl || baseUrl === undefined || new URL(forwardUrl).origin !== new URL(baseUrl).origin) return;
  throw appError('INCORRECT_TYPE', {
    message: 'forwardUrl: must be another server; this is the public URL of Gatepost itself (GATEPOST_BASE_URL).',
  });
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

export function keyContext(appId: string, kind: KeyKind): string {
  return `${kind} key of ${appId}`;
}

export function secretContext(appId: string, name: SecretSettingName): string {
  return `${name} of ${appId}`;
}
